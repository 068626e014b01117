import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { EtcdClusterSpecInput } from "../../api/etcd-cluster-spec.ts";
import { clientSchemes, clientURLOf } from "../config/flags.ts";
import { decide } from "../decide.ts";
import type { AuthorityFacts, Observation } from "../observation.ts";
import { plan } from "../plan/plan.ts";
import { predict } from "../plan/predict.ts";
import { settle } from "../plan/settle.ts";
import { closingWord } from "../template/effective.ts";
import { targetOf } from "../template/target.ts";
import { templateFor, templateHash } from "../template/template.ts";
import { edit, healthy, NOW } from "../testing/cluster.ts";
import { assertInvariants } from "../testing/naive-invariants.ts";
import { viewOf } from "../view.ts";
import { changeTLS } from "./change-tls.ts";

type TLS = NonNullable<EtcdClusterSpecInput["tls"]>;

const OPEN = healthy({ tls: { clientAuth: "None" } });
const ask = (world: Observation, tls: TLS) => edit(world, { tls });
const told = (world: Observation) =>
  changeTLS(viewOf(world)).map((outcome) => ("hold" in outcome ? outcome.hold : outcome.act));
const approve = (world: Observation, approved: string | undefined): Observation => ({
  ...world,
  cluster: { ...world.cluster, ...(approved !== undefined && { approved }) },
});
const asking = (world: Observation) => world.members.map(({ record }) => record.template.tls.clientAuth);

/** Follows the rules until they wait for a person or have converged; every step is checked. */
function play(from: Observation): { readonly world: Observation; readonly steps: readonly string[] } {
  const steps: string[] = [];
  let world = settle(from);
  for (let left = 100; left > 0; left--) {
    const { act, converged, lookAgainAt } = decide(world);
    if (!act && (converged || lookAgainAt === undefined)) return { world, steps };
    if (act) {
      assertInvariants(world, act.action);
      steps.push(act.code);
    }
    world = act
      ? settle(predict(world, act.action))
      : settle({ ...world, now: Math.max(world.now, lookAgainAt ?? 0) });
  }
  return assert.fail(`no end: ${steps.join(", ")}`);
}

describe("clients that need a certificate from now on", () => {
  test("nobody restarts until a person approves it; the wait names the approval", () => {
    const asked = ask(OPEN, {});
    const { world, steps } = play(asked);
    assert.deepEqual(steps, []);
    const [wait] = told(world);
    assert.ok(wait && "approval" in wait);
    assert.equal(wait.code, "ClosingAwaitsApproval");
    assert.ok(wait.approval && wait.needsPerson);
    assert.equal(decide(world).converged, false);
    const { world: done } = play(approve(world, wait.approval.word));
    assert.deepEqual(asking(done), ["Required", "Required", "Required"]);
    assert.deepEqual(told(done), []);
  });

  test("an approval of something else approves nothing", () => {
    assert.deepEqual(play(approve(ask(OPEN, {}), "0123abcd")).steps, []);
  });

  test("an approval counts for one change: asked for again later, it is waited for again", () => {
    const asked = ask(OPEN, {});
    const [wait] = told(asked);
    const word = wait && "approval" in wait ? wait.approval?.word : undefined;
    const { world: closed } = play(approve(asked, word));
    assert.deepEqual(asking(closed), ["Required", "Required", "Required"]);
    const { world: open } = play(ask(closed, { clientAuth: "None" }));
    assert.deepEqual(asking(open), ["None", "None", "None"]);
    const { world: again, steps } = play(ask(open, {}));
    assert.deepEqual([again.cluster.approved, steps], [word, []]);
    const [next] = told(again);
    assert.ok(next && "approval" in next && next.approval?.word !== word);
    const template = templateFor(asked.cluster.spec, "3.6.16");
    assert.equal(closingWord(asked.cluster, template), word);
    assert.notEqual(closingWord({ ...asked.cluster, uid: "of one restored" }, template), word);
  });

  test("with a time they have it, from when it was seen that they may choose", () => {
    const asked = ask(OPEN, { transition: { proceed: "After", after: "10m" } });
    const [wait] = told(settle(asked));
    assert.ok(wait && "until" in wait);
    assert.deepEqual([wait.code, wait.until], ["ClosingAwaitsTime", NOW + 600_000]);
    const { world } = play(asked);
    assert.deepEqual(asking(world), ["Required", "Required", "Required"]);
    assert.ok(world.now >= NOW + 600_000);
    assert.deepEqual(plan(asked).end, { converged: true });
  });

  test("what the first member could not run with is told, and not tried again when the time comes again", () => {
    const asked = ask(OPEN, { transition: { proceed: "After", after: "10m" } });
    const hash = templateHash(templateFor(asked.cluster.spec, "3.6.16"));
    const failedTarget = { hash, member: "demo-3", reason: "it exited" };
    const marks = { ...asked.cluster.marks, failedTarget };
    const { world, steps } = play({ ...asked, cluster: { ...asked.cluster, marks } });
    assert.deepEqual(steps, []);
    for (const now of [world.now, world.now + 600_000])
      assert.ok(decide({ ...world, now }).holds.some(({ code }) => code === "RolledBack"));
    const other = play(edit(world, { options: { logLevel: "Debug" } }));
    assert.equal(other.steps[0], "FailedTargetForgotten", "another edit is another try");
    assert.deepEqual(asking(other.world), ["Required", "Required", "Required"]);
  });

  test("one approval is enough where rollouts wait for one too", () => {
    const asked = edit(OPEN, { tls: {}, update: { strategy: "OnApproval" } });
    const [wait] = told(asked);
    const { world } = play(approve(asked, wait && "approval" in wait ? wait.approval?.word : undefined));
    assert.deepEqual(asking(world), ["Required", "Required", "Required"]);
  });

  test("another change is rolled out meanwhile, and ends nothing for clients", () => {
    const both = edit(OPEN, { tls: {}, options: { logLevel: "Debug" } });
    const { world } = play(both);
    assert.deepEqual(asking(world), ["None", "None", "None"]);
    assert.ok(world.members.every(({ record }) => record.template.options.logLevel === "Debug"));
  });

  test("once the first member asks for certificates, no further word is needed; undone, it stops asking", () => {
    const asked = ask(OPEN, {});
    const [wait] = told(asked);
    const word = wait && "approval" in wait ? wait.approval?.word : undefined;
    let world = approve(asked, word);
    while (new Set(asking(world)).size === 1) {
      const { act } = decide(world);
      assert.ok(act);
      world = settle(predict(world, act.action));
    }
    const { approved: _word, ...cluster } = world.cluster;
    const forgotten = { ...world, cluster };
    assert.equal(told(forgotten)[0]?.code, "WaysClosing");
    assert.deepEqual(asking(play(forgotten).world), ["Required", "Required", "Required"]);
    assert.deepEqual(asking(play(ask(forgotten, { clientAuth: "None" })).world), ["None", "None", "None"]);
  });
});

test("clients that need no certificate any more: members are rolled without a wait", () => {
  const asked = ask(healthy(), { clientAuth: "None" });
  assert.equal(told(asked)[0]?.code, "WaysOpening");
  const { world } = play(asked);
  assert.deepEqual(asking(world), ["None", "None", "None"]);
  assert.equal(decide(world).converged, true);
});

describe("plaintext and TLS for clients", () => {
  const MIXED: TLS = { mode: "Managed", client: { mode: "Disabled" } };
  const urls = (world: Observation) =>
    world.members.map(({ record }) => new URL(clientURLOf(record)).protocol);

  test("to TLS in two rolls: both on one port, then, approved, TLS alone", () => {
    const { world: both, steps } = play(ask(healthy({ tls: MIXED }), {}));
    assert.equal(steps.filter((code) => code === "MemberRolled").length, 3);
    assert.deepEqual(urls(both), ["http:", "http:", "http:"]);
    const [wait] = told(both);
    assert.ok(wait && "approval" in wait);
    assert.equal(wait.code, "ClosingAwaitsApproval");
    const { world: done } = play(approve(both, wait.approval?.word));
    assert.deepEqual(urls(done), ["https:", "https:", "https:"]);
    const plain = healthy().members.map(({ record }) => templateHash(record.template));
    assert.deepEqual(
      done.members.map(({ record }) => templateHash(record.template)),
      plain,
      "as one made so",
    );
  });

  test("and back, after a time", () => {
    const transition = { proceed: "After", after: "1m" } as const;
    const { world } = play(ask(healthy(), { ...MIXED, transition }));
    assert.deepEqual(urls(world), ["http:", "http:", "http:"]);
    assert.ok(world.members.every(({ record }) => record.template.tls.effective === undefined));
  });

  test("undone while both are served, nobody is restarted until what may be used by then ends", () => {
    for (const [from, to] of [
      [MIXED, {}],
      [{}, MIXED],
    ] as const) {
      const first = healthy({ tls: from });
      const { world: both } = play(ask(first, to));
      const { world: undone, steps } = play(ask(both, from));
      assert.deepEqual(steps, []);
      assert.deepEqual(urls(undone), urls(first), "the member list names what it did");
      const [wait] = told(undone);
      assert.ok(wait && "approval" in wait);
      const { world: done, steps: back } = play(approve(undone, wait.approval?.word));
      assert.equal(back.filter((code) => code === "MemberRolled").length, 3);
      const hashes = (world: Observation) => world.members.map(({ record }) => templateHash(record.template));
      assert.deepEqual(hashes(done), hashes(first));
    }
  });

  test("undone halfway, only who was restarted by then is restarted again", () => {
    let world = ask(healthy(), MIXED);
    for (let left = 2; left > 0; left--) {
      const { act } = decide(world);
      assert.ok(act);
      world = settle(predict(world, act.action));
    }
    const { world: done, steps } = play(ask(world, {}));
    assert.deepEqual(urls(done), ["https:", "https:", "https:"]);
    assert.equal(steps.filter((code) => code === "MemberRolled").length, 1);
    assert.deepEqual(told(done), []);
  });
});

describe("plaintext and certificates of somebody else for clients", () => {
  const plain = healthy({ tls: { client: { mode: "Disabled" } } });
  const OWN: TLS = { client: { mode: "Secrets", secrets: { server: "web", operator: "op" } } };
  const withCA = (world: Observation, facts: Partial<AuthorityFacts> | undefined): Observation => {
    const steady = { current: "theirs", phase: "Steady", expiresAt: Infinity, rotateAt: Infinity } as const;
    const authorities = { peer: steady, ...(facts && { client: { ...steady, ...facts } }) };
    return { ...world, platform: { ...world.platform, authorities } };
  };
  const schemes = (world: Observation) =>
    world.members.map(({ record }) => clientSchemes(record.template.tls).join());

  test("by the same two rolls, there and back", () => {
    const both = play(withCA(ask(plain, OWN), { given: true }));
    assert.deepEqual(new Set(schemes(both.world)), new Set(["http,https"]));
    const [wait] = told(both.world);
    assert.ok(wait && "approval" in wait);
    const { world } = play(approve(both.world, wait.approval?.word));
    assert.deepEqual(new Set(schemes(world)), new Set(["https"]));
    const back = play(ask(world, { client: { mode: "Disabled" } }));
    assert.deepEqual(new Set(schemes(back.world)), new Set(["http,https"]));
    const [second] = told(back.world);
    assert.ok(second && "approval" in second);
    const { world: end } = play(approve(back.world, second.approval?.word));
    assert.deepEqual(new Set(schemes(end)), new Set(["http"]));
    assert.equal(decide(end).converged, true);
  });

  test("nobody restarts before there is a certificate for every member", () => {
    for (const facts of [undefined, { awaited: true }, { given: true, awaited: true }] as const) {
      const world = withCA(ask(plain, OWN), facts);
      assert.equal(decide(world).act, undefined);
      assert.deepEqual(
        told(world).map((one) => one.code),
        ["CertificatesAwaited"],
      );
    }
  });

  test("changed again in between, all get certificates of ours first; of others nobody gets any more", () => {
    const half = (world: Observation) => {
      const { act } = decide(settle(world));
      assert.equal(act?.code, "MemberRolled");
      return settle(predict(settle(world), act.action));
    };
    const tls: TLS = { ...OWN, transition: { proceed: "After", after: "1s" } };
    const ours = withCA(half(withCA(ask(plain, {}), {})), { turn: "Begin", successor: "next" });
    const { world, steps } = play(ask(ours, tls));
    assert.ok(steps.lastIndexOf("MemberRolled", steps.indexOf("AuthorityReplaced")) >= 1);
    assert.deepEqual(new Set(schemes(world)), new Set(["https"]));
    assert.ok(world.members.every(({ record }) => record.template.tls.client?.mode === "Secrets"));
    const theirs = withCA(half(withCA(ask(plain, OWN), { given: true })), { given: true, turn: "Begin" });
    const { world: stays } = play(ask(theirs, {}));
    assert.ok(decide(stays).holds.some(({ code }) => code === "CertificatesAwaited"));
    assert.deepEqual(schemes(stays).toSorted(), ["http", "http", "http,https"]);
  });

  test("the CA of another source that nobody uses is replaced first, and no client needs time for that", () => {
    const world = withCA(ask(plain, OWN), { current: "ours", turn: "Begin", successor: "theirs" });
    const { steps } = play(world);
    const first = steps.indexOf("MemberRolled");
    assert.deepEqual(steps.slice(0, first), [
      "AuthorityReplaced",
      "AuthoritySwitched",
      "AuthorityRetired",
      "AuthorityRotated",
    ]);
  });
});

describe("names of users that are read from what clients show", () => {
  const authOf = (etcd?: { readonly enabled: boolean }) =>
    ({
      self: "quorate-operator",
      byCertificate: true,
      users: [],
      roles: [],
      passwords: {},
      ownSecrets: { root: "r", operator: "o" },
      canActAsRoot: false,
      ...(etcd && { etcd: { users: {}, roles: {}, passwords: {}, ...etcd } }),
    }) as unknown as NonNullable<Observation["auth"]>;
  const on = authOf({ enabled: true });

  test("while etcd has auth enabled, nothing of that changes", () => {
    const asked = { ...ask(healthy(), { clientAuth: "None" }), auth: on };
    assert.equal(told(asked)[0]?.code, "ChangeAwaitsNoAuth");
    assert.deepEqual(asking(play(asked).world), ["Required", "Required", "Required"]);
  });

  test("nor while it was not read whether it has", () => {
    const asked = { ...ask(healthy(), { clientAuth: "None" }), auth: authOf() };
    assert.equal(told(asked)[0]?.code, "ChangeAwaitsAuthRead");
    const { act, converged } = decide(asked);
    assert.deepEqual([act, converged], [undefined, false]);
    assert.equal(told({ ...asked, auth: authOf({ enabled: false }) })[0]?.code, "WaysOpening");
    assert.deepEqual(told({ ...healthy(), auth: authOf() }), [], "where nothing is to change, nobody asks");
  });

  test("nor goes a change on that had begun, forward or back: no member is restarted for it", () => {
    const asked = ask(healthy(), { clientAuth: "None" });
    let world = asked;
    for (let left = 2; left > 0; left--) {
      const { act } = decide(world);
      assert.ok(act);
      world = settle(predict(world, act.action));
    }
    assert.deepEqual(asking(world), ["Required", "Required", "None"]);
    for (const auth of [on, authOf()])
      for (const halted of [world, ask(world, {})]) {
        const { act, holds } = decide({ ...halted, auth });
        assert.equal(act, undefined);
        const code = auth === on ? "ChangeAwaitsNoAuth" : "ChangeAwaitsAuthRead";
        assert.ok(holds.some((hold) => hold.code === code));
      }
  });
});

test("what each member runs is found out once, for clients and for peers", () => {
  let reads = 0;
  const members = OPEN.members.map((member) => ({
    ...member,
    workload: {
      ...member.workload,
      get startedFrom() {
        reads++;
        return '{"process":"another"}';
      },
    },
  }));
  const view = viewOf({ ...OPEN, members } as Observation);
  targetOf(view);
  reads = 0;
  changeTLS(view);
  assert.equal(reads, members.length);
});
