import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { decide } from "../decide.ts";
import type { AuthorityFacts, MemberTrust, Observation, Plane, RotationPhase } from "../observation.ts";
import { predict } from "../plan/predict.ts";
import { change, edit, healthy, NOW } from "../testing/cluster.ts";
import { assertInvariants } from "../testing/naive-invariants.ts";
import { viewOf } from "../view.ts";
import { rotateAuthorities } from "./rotate-authorities.ts";

const MINUTE = 60_000;
const STEADY: AuthorityFacts = {
  current: "old",
  phase: "Steady",
  expiresAt: NOW + 1_000 * MINUTE,
  rotateAt: Infinity,
};

function rotating(world: Observation, facts: Partial<Record<Plane, Partial<AuthorityFacts>>>): Observation {
  const of = (plane: Plane): AuthorityFacts => ({ ...STEADY, ...facts[plane] });
  return {
    ...world,
    platform: { ...world.platform, authorities: { client: of("client"), peer: of("peer") } },
  };
}

/** Every member trusts these CAs by its record and runs with them, and was seen so. */
function trusting(world: Observation, trust: readonly string[], seen: MemberTrust): Observation {
  return world.members.reduce((before, { record: { name } }) => {
    const named = change(before, name, (facts) => {
      const { template } = facts.record;
      const tls = { ...template.tls, effective: { client: { trust }, peer: { trust } } };
      const record = { ...facts.record, template: { ...template, tls } };
      return { ...facts, record, trust: { client: seen, peer: seen } };
    });
    return predict(named, { kind: "StopWorkload", member: name });
  }, world);
}

const codes = (world: Observation) =>
  rotateAuthorities(viewOf(world)).map((outcome) =>
    "act" in outcome ? outcome.act.code : outcome.hold.code,
  );

function codesOf(world: Observation) {
  // Only the plane under test is told of.
  return [...new Set(codes(world))];
}

/** All steps of a whole rotation in a world where nothing fails. */
function played(from: Observation): string[] {
  const steps: string[] = [];
  let world = from;
  for (let left = 60; left > 0; left--) {
    const { act, lookAgainAt } = decide(world);
    if (!act && lookAgainAt === undefined) return steps;
    if (!act) world = { ...world, now: Math.max(world.now, lookAgainAt ?? 0) };
    if (!act) continue;
    assertInvariants(world, act.action);
    steps.push(act.code);
    world = predict(world, act.action);
  }
  return assert.fail(`no end: ${steps.join(", ")}`);
}

const BOTH = (facts: Partial<AuthorityFacts>) => ({ client: facts, peer: facts });

test("a CA that is due is rotated whole: trusted by all, then signing, then the old one dropped, in two rolls", () => {
  const steps = played(rotating(healthy(), BOTH({ rotateAt: NOW })));
  const phases = steps.filter((code) => code.startsWith("Authority"));
  assert.deepEqual(phases, [
    "AuthorityDue",
    "AuthorityDue",
    "AuthoritySwitched",
    "AuthoritySwitched",
    "AuthorityRetired",
    "AuthorityRetired",
    "AuthorityRotated",
    "AuthorityRotated",
  ]);
  assert.equal(steps.filter((code) => code === "MemberRolled").length, 6, "each member twice");
});

test("a CA that falls due soon after the other plane's is rotated with it: one roll for both, twice", () => {
  const soon = { rotateAt: NOW + MINUTE, expiresAt: NOW + 21 * MINUTE };
  for (const [first, second] of [
    ["client", "peer"],
    ["peer", "client"],
  ] as const) {
    const steps = played(rotating(healthy(), { [first]: { rotateAt: NOW }, [second]: soon }));
    assert.equal(steps.filter((code) => code === "AuthorityDue").length, 2);
    assert.equal(steps.filter((code) => code === "MemberRolled").length, 6, "each member twice");
  }
  const late = { rotateAt: NOW + 3 * MINUTE, expiresAt: NOW + 23 * MINUTE };
  const apart = rotating(healthy(), { client: { rotateAt: NOW }, peer: late });
  assert.deepEqual(codes(apart), ["AuthorityDue"], "another tenth of its last time has to be near");
  assert.deepEqual(codes(rotating(healthy(), { peer: soon })), [], "not by itself");
});

test("nothing begins before it is due, nor while a member is not well", () => {
  assert.deepEqual(codes(rotating(healthy(), {})), []);
  const due = rotating(healthy(), { peer: { rotateAt: NOW } });
  assert.deepEqual(codes(due), ["AuthorityDue"]);
  const down = change(due, "demo-2", (facts) => ({
    ...facts,
    answer: { reachable: false, error: "no answer" } as const,
  }));
  assert.deepEqual(codes(down), []);
});

describe("the new CA signs only when every member was seen to accept it", () => {
  const bundle = { phase: "Bundle", other: "new", since: NOW - 60 * MINUTE } as const;
  const trust = ["old", "new"];

  test("not while a record does not name it", () => {
    assert.deepEqual(codesOf(rotating(healthy(), BOTH(bundle))), ["TrustRolling"]);
  });

  test("not because records and Pods say so", () => {
    const unseen = trusting(rotating(healthy(), BOTH(bundle)), trust, {});
    assert.deepEqual(codesOf(unseen), ["TrustUnseen"]);
    const stale = trusting(rotating(healthy(), BOTH(bundle)), trust, { accepts: "old" });
    assert.deepEqual(codesOf(stale), ["TrustUnseen"]);
  });

  test("not before clients had their time, which peers do not need", () => {
    const world = rotating(healthy(), BOTH({ ...bundle, since: NOW - 9 * MINUTE }));
    const seen = trusting(world, trust, { accepts: "new", shows: "old", seenAt: 1 });
    assert.deepEqual(codes(seen), ["BundleSoaks", "AuthoritySwitched"]);
    const [wait] = decide(seen).holds.filter(({ code }) => code === "BundleSoaks");
    assert.equal(wait?.until, NOW + MINUTE);
    const late = trusting(world, trust, { accepts: "new", shows: "old", seenAt: NOW - MINUTE });
    assert.equal(decide(late).holds.find(({ code }) => code === "BundleSoaks")?.until, NOW + 9 * MINUTE);
    const short = edit(seen, { tls: { rotation: { soak: "5m" } } });
    assert.deepEqual(codes(short), ["AuthoritySwitched", "AuthoritySwitched"]);
  });
});

describe("the old CA is dropped only when every member was seen to serve a certificate of the new one", () => {
  const reissue = { phase: "Reissue", current: "new", other: "old", since: NOW - 60 * MINUTE } as const;
  const trust = ["old", "new"];

  test("not while one shows another", () => {
    const late = trusting(rotating(healthy(), BOTH(reissue)), trust, {
      accepts: "new",
      shows: "old",
      seenAt: 1,
    });
    assert.deepEqual(codesOf(late), ["LeavesUnseen"]);
  });

  test("not at once after an operator outage: the soak counts from when every member was seen to serve it", () => {
    const world = rotating(healthy(), BOTH(reissue));
    const seen = trusting(world, trust, { accepts: "new", shows: "new", seenAt: NOW - 9 * MINUTE });
    assert.deepEqual(codes(seen), ["LeavesSoak"]);
    assert.deepEqual(codes({ ...seen, now: NOW + MINUTE }), ["AuthorityRetired", "AuthorityRetired"]);
    const unknown = trusting(world, trust, { accepts: "new", shows: "new" });
    assert.deepEqual(codes(unknown), ["LeavesSoak"]);
  });

  test("both planes together, so that members restart once for it", () => {
    const world = rotating(healthy(), { client: { ...reissue, since: NOW }, peer: reissue });
    const seen = trusting(world, trust, { accepts: "new", shows: "new", seenAt: 1 });
    assert.deepEqual(codes(seen), ["LeavesSoak"]);
    const later = { ...seen, now: NOW + 11 * MINUTE };
    assert.deepEqual(codes(later), ["AuthorityRetired", "AuthorityRetired"]);
  });

  test("and forgotten when no record names it and everybody was started from its record", () => {
    const drop = { phase: "Drop", current: "new", other: "old", since: NOW } as const;
    const before = trusting(rotating(healthy(), BOTH(drop)), trust, {
      accepts: "new",
      shows: "new",
      seenAt: 1,
    });
    assert.deepEqual(codesOf(before), ["TrustDropping"]);
    const after = trusting(rotating(healthy(), BOTH(drop)), ["new"], {
      accepts: "new",
      shows: "new",
      seenAt: 1,
    });
    assert.deepEqual(codesOf(after), ["AuthorityRotated"]);
  });
});

describe("another CA is asked for than the one that signs", () => {
  const begin = { given: true, turn: "Begin", successor: "new" } as const;
  const trust = ["old", "new"];

  test("it is rotated to like a due one: trusted by all, then its certificates, then the old one dropped", () => {
    const steps = played(rotating(healthy(), { peer: begin }));
    const phases = steps.filter((code) => code.startsWith("Authority"));
    assert.deepEqual(phases, [
      "AuthorityReplaced",
      "AuthoritySwitched",
      "AuthorityRetired",
      "AuthorityRotated",
    ]);
    assert.equal(steps.filter((code) => code === "MemberRolled").length, 6, "each member twice");
  });

  test("with what is asked for, once all members are well", () => {
    const [outcome] = rotateAuthorities(viewOf(rotating(healthy(), { peer: begin })));
    assert.ok(outcome && "act" in outcome && outcome.act.action.kind === "RotateAuthority");
    assert.equal(outcome.act.action.successor, "new");
    const down = change(rotating(healthy(), { peer: begin }), "demo-2", (facts) => ({
      ...facts,
      answer: { reachable: false, error: "no answer" } as const,
    }));
    assert.deepEqual(codesOf(down), ["AuthorityWaits"]);
  });

  test("not where members must be replaced to trust it and nobody can be added: it would never end", () => {
    const newcomersBlocked = { reason: "CertificateNotGiven", message: "demo-4 has none" } as const;
    const asked = (medium: "Memory" | "Persistent") => {
      const world = rotating(healthy({ storage: { medium } }), { peer: begin });
      return { ...world, platform: { ...world.platform, newcomersBlocked } };
    };
    assert.deepEqual(codesOf(asked("Memory")), ["AuthorityNeedsNewcomers"]);
    assert.equal(decide(asked("Memory")).act, undefined);
    assert.deepEqual(codesOf(asked("Persistent")), ["AuthorityReplaced"]);
  });

  test("undone while members are restarted to trust it: it is dropped, whoever was seen", () => {
    const undone = { phase: "Bundle", other: "new", turn: "Abort" } as const;
    const world = trusting(rotating(healthy(), { peer: undone }), trust, {});
    assert.deepEqual(codesOf(world), ["AuthorityAbandoned"]);
    for (const outcome of rotateAuthorities(viewOf(world)))
      if ("act" in outcome) assertInvariants(world, outcome.act.action);
  });

  test("undone while its certificates are taken over: the way is turned around, and nobody restarts for that", () => {
    const taking = { phase: "Reissue", current: "new", other: "old" } as const;
    const world = trusting(rotating(healthy(), { peer: { ...taking, turn: "Reverse" } }), trust, {});
    assert.deepEqual(codesOf(world), ["AuthorityReversed"]);
    const back = rotating(world, { peer: { phase: "Bundle", current: "new", other: "old" } });
    assert.deepEqual(
      codesOf(back),
      ["TrustUnseen"],
      "and the former one has to be seen to be accepted again",
    );
    const again = rotating(world, { peer: { ...taking, phase: "Bundle", turn: "Reverse" } });
    assert.deepEqual(codesOf(again), ["AuthorityReversed"]);
  });
});

test("a removed member whose Pod hangs does not keep a rotation from beginning, going on and ending", () => {
  const leaving = { reason: "it goes", volume: "Retain" } as const;
  const hanging = (world: Observation): Observation => {
    const o = change(world, "demo-3", ({ record }) => ({
      record: { ...record, leaving },
      workload: { state: "stopping", since: NOW - 60 * MINUTE } as const,
      answer: { reachable: false, error: "no answer" } as const,
      trust: {},
    }));
    const { list } = o.etcd;
    assert.ok(list);
    const members = list.members.filter(({ name }) => name !== "demo-3");
    return { ...o, etcd: { ...o.etcd, list: { ...list, members } } };
  };
  const due = hanging(rotating(healthy(), { peer: { rotateAt: NOW } }));
  assert.deepEqual(codes(due), ["AuthorityDue"]);
  const seen = { accepts: "new", shows: "new", seenAt: 1 };
  const inPhase = (phase: RotationPhase, trust: readonly string[], current = "new", other = "old") =>
    hanging(trusting(rotating(healthy(), BOTH({ phase, current, other, since: 1 })), trust, seen));
  const worlds = [
    inPhase("Bundle", ["old", "new"], "old", "new"),
    inPhase("Reissue", ["old", "new"]),
    inPhase("Drop", ["new"]),
  ];
  assert.deepEqual(
    worlds.map((world) => codesOf(world)),
    [["AuthoritySwitched"], ["AuthorityRetired"], ["AuthorityRotated"]],
  );
  for (const world of worlds)
    for (const outcome of rotateAuthorities(viewOf(world)))
      if ("act" in outcome) assertInvariants(world, outcome.act.action);
  const counted = change(worlds[1]!, "demo-3", ({ record }) => ({
    record: { ...record, leaving: undefined },
  }));
  assert.deepEqual(codesOf(counted), ["LeavesUnseen"], "one that nobody removed is waited for");
});
