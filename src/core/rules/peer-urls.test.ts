import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isSecure, peerScheme, peerURLOf } from "../config/flags.ts";
import { decide } from "../decide.ts";
import type { Observation } from "../observation.ts";
import { plan } from "../plan/plan.ts";
import { settle } from "../plan/settle.ts";
import { change, exited, healthy, record } from "../testing/cluster.ts";
import {
  ask,
  count,
  listed,
  PLAIN,
  plain,
  play,
  schemes,
  SECURE,
  secure,
  told,
  type TLS,
} from "../testing/peer-change.ts";
import { targetOf } from "../template/target.ts";
import { startHash } from "../template/template.ts";
import { viewOf } from "../view.ts";
import { peerURLs } from "./peer-urls.ts";

describe("peers from plaintext to TLS and back", () => {
  test("two rolls: certificates for all, then TLS with the URL told before each restart", () => {
    const { world, codes } = play(ask(plain, SECURE));
    assert.deepEqual(schemes(world), ["https", "https", "https"]);
    assert.deepEqual(
      listed(world),
      world.members.map(({ record: one }) => peerURLOf(one)),
    );
    assert.deepEqual([count(codes, "MemberRolled"), count(codes, "PeerURLUpdated")], [6, 3]);
    const first = codes.indexOf("PeerURLUpdated");
    assert.equal(count(codes.slice(0, first), "MemberRolled"), 4, "all have certificates by then");
    assert.deepEqual(codes.slice(first - 1, first + 2), [
      "MemberRolled",
      "PeerURLUpdated",
      "MemberRestarted",
    ]);
    assert.deepEqual(told(world), []);
    assert.equal(decide(world).converged, true);
  });

  test("and back: plaintext first, certificates given up when nobody needs them", () => {
    const { world, codes } = play(ask(secure, PLAIN));
    assert.deepEqual(schemes(world), ["http", "http", "http"]);
    assert.deepEqual(
      listed(world),
      world.members.map(({ record: one }) => peerURLOf(one)),
    );
    assert.ok(world.members.every(({ record: { template } }) => !isSecure(template.tls, "peer")));
    assert.deepEqual([count(codes, "MemberRolled"), count(codes, "PeerURLUpdated")], [6, 3]);
    assert.ok(codes.lastIndexOf("PeerURLUpdated") < codes.lastIndexOf("MemberRolled"));
  });

  test("afterwards a member is as one that was created so: nobody restarts again", () => {
    const { world } = play(ask(plain, SECURE));
    const started = ({ members }: Observation) => members.map(({ record: one }) => startHash(one));
    assert.deepEqual(started(world), started(secure));
    assert.deepEqual(started(play(ask(world, PLAIN)).world), started(plain));
  });

  test("the status names the phase and who is missing", () => {
    const asked = ask(plain, SECURE);
    const after = (from: Observation, restarts: number) =>
      told(settle(play(from, (codes) => count(codes, "MemberRestarted") === restarts).world))[0]?.params;
    const all = ["demo-1", "demo-2", "demo-3"];
    assert.deepEqual(told(asked)[0]?.params, { members: all, phase: "certificates" });
    assert.deepEqual(after(asked, 1), { members: ["demo-1", "demo-2"], phase: "certificates" });
    assert.deepEqual(after(asked, 3), { members: all, phase: "https" });
    assert.deepEqual(after(asked, 5), { members: ["demo-2"], phase: "https" });
    const back = ask(secure, PLAIN);
    assert.deepEqual(told(back)[0]?.params, { members: all, phase: "http" });
    assert.deepEqual(after(back, 3), { members: all, phase: "plaintext" });
    assert.ok(told(back)[0]?.unfinished);
  });

  test("undone after a step, it leads back, and nobody is cut off on the way", () => {
    for (const [from, to, back] of [
      [plain, SECURE, PLAIN],
      [secure, PLAIN, SECURE],
    ] as const) {
      const whole = play(ask(from, to)).codes.length;
      for (let steps = 1; steps <= whole; steps += 2) {
        const { world: half } = play(ask(from, to), (codes) => codes.length === steps);
        const { world } = play(ask(half, back));
        assert.deepEqual(schemes(world), schemes(from), `after ${steps} steps`);
        assert.deepEqual(
          listed(world),
          world.members.map(({ record: one }) => peerURLOf(one)),
        );
      }
    }
  });

  test("the plan leads to the end", () => {
    assert.deepEqual(plan(ask(plain, SECURE)).end, { converged: true });
  });

  test("both planes at once, and sizes 1 and 2", () => {
    for (const replicas of [1, 2, 5]) {
      const begin = healthy({ replicas, tls: { mode: "Disabled" } });
      const tls: TLS = { mode: "Managed", transition: { proceed: "After", after: "1s" } };
      const { world } = play(ask(begin, tls));
      assert.deepEqual(new Set(schemes(world)), new Set(["https"]));
      const { world: back } = play(ask(world, { ...tls, mode: "Disabled" }));
      assert.deepEqual(new Set(schemes(back)), new Set(["http"]));
    }
  });

  test("what clients use ends by one approval, however far peers are by then", () => {
    const begin = healthy({ tls: { mode: "Disabled" } });
    const words = new Set<string>();
    let world = ask(begin, SECURE);
    ({ world } = play(world, (_codes, now) => {
      const approval = told(settle(now)).find(({ code }) => code === "ClosingAwaitsApproval")?.approval;
      if (approval) words.add(approval.word);
      return false;
    }));
    assert.equal(words.size, 1);
    assert.deepEqual(schemes(world), ["https", "https", "https"]);
    const approved = { ...world, cluster: { ...world.cluster, approved: [...words].join() } };
    assert.equal(decide(play(approved).world).converged, true);
    for (const steps of [1, 5, 9, 12]) {
      const { world: half } = play(ask(begin, SECURE), (codes) => codes.length === steps);
      const early = { ...half, cluster: { ...half.cluster, approved: [...words].join() } };
      assert.equal(decide(play(early).world).converged, true, `approved after ${steps} steps`);
    }
  });

  test("where a restart loses data, newcomers listen as asked, and no URL is changed", () => {
    const storage = { medium: "Memory", size: "1Gi" } as const;
    const begin = healthy({ tls: PLAIN, storage });
    const { world, codes } = play(ask(begin, SECURE));
    assert.deepEqual(schemes(world), ["https", "https", "https"]);
    assert.equal(count(codes, "PeerURLUpdated"), 0);
  });

  test("a standing learner is replaced, since another URL could make it a voter", () => {
    const begin = healthy({ tls: PLAIN, learners: 1 });
    const { world, codes } = play(ask(begin, SECURE));
    assert.equal(count(codes, "LearnerMoves"), 1);
    assert.equal(count(codes, "PeerURLUpdated"), 3);
    assert.deepEqual(
      world.etcd.list?.members.map(({ isLearner }) => isLearner),
      [false, false, false, true],
    );
    assert.deepEqual(new Set(schemes(world)), new Set(["https"]));
  });
});

describe("when a member may listen with TLS", () => {
  const rolled = play(ask(plain, SECURE), (codes) => count(codes, "MemberRolled") === 3).world;

  test("not before the last one runs with its certificates, whatever its record says", () => {
    assert.ok(rolled.members.every(({ record: { template } }) => isSecure(template.tls, "peer")));
    const listens = (world: Observation) => peerScheme(targetOf(viewOf(world)).template!.tls);
    assert.equal(listens(rolled), "http");
    assert.equal(listens(play(rolled, (codes) => codes.length === 1).world), "https");
  });
});

describe("while there is no quorum, and etcd cannot be told", () => {
  const certified = settle(
    play(ask(plain, SECURE), (codes) => count(codes, "MemberRolled") === 3 && codes.at(-1) !== "MemberRolled")
      .world,
  );
  const two = healthy({ replicas: 2, tls: PLAIN });
  const told = settle(play(ask(two, SECURE), (codes) => count(codes, "PeerURLUpdated") === 1).world);

  function down(world: Observation, names: readonly string[], knowsList: boolean): Observation {
    const ill = names.reduce((now, name) => exited(now, name, "killed", { since: world.now }), world);
    const { list, ...etcd } = ill.etcd;
    const known = list && knowsList ? { list: { ...list, linearizable: false } } : {};
    return { ...ill, now: world.now + 600_000, etcd: { ...etcd, ...known } };
  }
  /** What is written into records meanwhile: whoever is made anew does not come up either. */
  function given(from: Observation): Observation {
    let world = from;
    for (let left = 20; left > 0; left--) {
      const { act } = decide(world);
      if (act?.action.kind === "UpdateMember") {
        const { template = assert.fail() } = act.action.change;
        world = record(world, act.action.member, { template });
      } else if (act?.action.kind === "StopWorkload")
        world = change(world, act.action.member, ({ record: one, workload }) => ({
          workload: { ...workload, startedFrom: startHash(one) } as typeof workload,
        }));
      else return world;
    }
    return assert.fail("no end");
  }
  const otherwise = (world: Observation, list = certified.etcd.list) =>
    world.members.filter(
      ({ record: one }) => !list?.members.some(({ peerURLs: urls }) => urls.includes(peerURLOf(one))),
    ).length;

  test("two that listen otherwise than etcd lists them would not reach each other: one at most does", () => {
    assert.equal(peerScheme(targetOf(viewOf(certified)).template!.tls), "https");
    const all = ["demo-1", "demo-2", "demo-3"];
    assert.equal(otherwise(given(down(certified, all, false))), 0, "nobody knows how others are listed");
    assert.ok(
      decide(down(certified, all, false)).holds.some(({ code }) => code === "MendMovesPeer"),
      "and that is told",
    );
    for (const names of [all, all.slice(1), all.slice(0, 2)])
      assert.ok(otherwise(given(down(certified, names, true))) <= 1, names.join());
  });

  test("one of two that cannot listen with TLS goes back, and reaches the other", () => {
    const [canary] = told.members.filter(({ record: one }) => peerScheme(one.template.tls) === "https");
    const back = given(down(ask(told, PLAIN), [canary!.record.name], true));
    assert.deepEqual(schemes(back), ["http", "http"]);
  });
});

describe("what etcd is told", () => {
  const moved = play(ask(plain, SECURE), (codes) => count(codes, "PeerURLUpdated") === 1).world;
  const before = play(ask(plain, SECURE), (codes) => count(codes, "MemberRolled") === 4).world;
  const withEntry = (world: Observation, name: string, more: object): Observation => ({
    ...world,
    etcd: {
      ...world.etcd,
      list: world.etcd.list && {
        ...world.etcd.list,
        members: world.etcd.list.members.map((one) => (one.name === name ? { ...one, ...more } : one)),
      },
    },
  });
  const act = (world: Observation) =>
    peerURLs(viewOf(world)).map((one) => "act" in one && one.act.action.kind);

  test("the URL of a voter that is to restart, once", () => {
    assert.deepEqual(act(before), ["UpdatePeerURL"]);
    assert.deepEqual(act(moved), []);
    assert.equal(decide(moved).act?.code, "MemberRestarted");
  });

  test("nothing about a learner, and nothing without quorum", () => {
    const name = before.members.find(({ record: one }) => peerScheme(one.template.tls) === "https")?.record
      .name;
    assert.deepEqual(act(withEntry(before, name!, { isLearner: true })), []);
    const list = before.etcd.list && { ...before.etcd.list, linearizable: false };
    assert.deepEqual(act({ ...before, etcd: { ...before.etcd, list } }), []);
  });

  test("a URL that somebody else gave a member is left as it is", () => {
    assert.deepEqual(act(withEntry(plain, "demo-2", { peerURLs: ["http://elsewhere:2380"] })), []);
    const two = ["http://demo-2.demo:2380", "https://demo-2.demo:2380"];
    assert.deepEqual(act(withEntry(plain, "demo-2", { peerURLs: two })), []);
  });

  test("a member whose ID is not known yet is found by its place, by either scheme", () => {
    const { memberID: _unknown, ...one } = moved.members[2]!.record;
    const forgotten = change(moved, "demo-3", () => ({ record: one }));
    assert.equal(viewOf(forgotten).unrecorded.length, 0);
    assert.equal(viewOf(record(forgotten, "demo-3", {})).members[2]?.entry?.name, "demo-3");
  });
});
