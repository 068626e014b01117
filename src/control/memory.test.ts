import assert from "node:assert/strict";
import { test } from "node:test";
import type { MemberAnswer, Observation } from "../core/observation.ts";
import { change, healthy } from "../core/testing/cluster.ts";
import { viewOf } from "../core/view.ts";
import { Memory } from "./memory.ts";

type Answer = Partial<Extract<MemberAnswer, { reachable: true }>>;

function at(world: Observation, member: string, answer: Answer): Observation {
  return change(world, member, (facts) => ({
    answer: facts.answer.reachable ? { ...facts.answer, ...answer } : facts.answer,
  }));
}

function every(world: Observation, answer: Answer): Observation {
  return world.members.reduce((o, { record }) => at(o, record.name, answer), world);
}

/** Who forgot, by name. */
function judged(memory: Memory, { cluster, members }: Observation, revision?: number): string[] {
  const status = { clusterID: cluster.marks.established?.clusterID, revision };
  const facts = memory.judge(cluster, members, revision === undefined ? undefined : (status as never));
  return facts.flatMap(({ record, forgot }) =>
    forgot === undefined ? [] : [`${record.name}: ${forgot.evidence}`],
  );
}

const one = healthy({ replicas: 1 });
const three = healthy();

test("a quorum whose revision falls has lost its data, and goes on having lost it", () => {
  const memory = new Memory();
  assert.deepEqual(judged(memory, at(one, "demo-1", { revision: 900 })), []);
  const said = ["demo-1: it is at revision 1, and 900 was seen before"];
  assert.deepEqual(judged(memory, at(one, "demo-1", { revision: 1 })), said);
  assert.deepEqual(judged(memory, at(one, "demo-1", { revision: 2_000 })), said);
});

test("the highest revision of the status counts for an operator that has just started", () => {
  assert.deepEqual(judged(new Memory(), at(one, "demo-1", { revision: 5 }), 900), [
    "demo-1: it is at revision 5, and 900 was seen before",
  ]);
  assert.deepEqual(judged(new Memory(), at(one, "demo-1", { revision: 900 }), 900), []);
});

test("a member that is behind without a read through quorum has lost nothing", () => {
  const memory = new Memory();
  judged(memory, every(three, { revision: 900, raftIndex: 1_000 }));
  const behind = at(every(three, { revision: 900 }), "demo-3", { revision: 700, linearizable: false });
  assert.deepEqual(judged(memory, every(behind, { raftIndex: 990 })), []);
});

test("a corrupt copy whose revision ran ahead makes nobody else look empty", () => {
  const memory = new Memory();
  judged(memory, at(every(three, { revision: 900 }), "demo-3", { revision: 940 }));
  assert.deepEqual(judged(memory, every(three, { revision: 901 })), []);
});

test("members are compared with what was seen before any of them was asked", () => {
  const memory = new Memory();
  const world = at(every(three, { revision: 900 }), "demo-1", { revision: 901 });
  assert.deepEqual(judged(memory, world), []);
});

test("a voter whose log is half of what it was forgot; one that lacks its last entries after a crash did not", () => {
  const memory = new Memory();
  judged(memory, every(three, { revision: 900, raftIndex: 1_000 }));
  const crashed = at(every(three, { revision: 900, raftIndex: 1_000 }), "demo-2", { raftIndex: 900 });
  assert.deepEqual(judged(memory, crashed), []);
  assert.deepEqual(judged(memory, at(crashed, "demo-2", { raftIndex: 12 })), [
    "demo-2: its log ends at 12, and it was seen at 1000",
  ]);
  const learner = at(crashed, "demo-3", { raftIndex: 12, isLearner: true, linearizable: false });
  assert.equal(judged(memory, learner).length, 1);
});

test("what another etcd answers at a member's address is not held against the member", () => {
  const memory = new Memory();
  const seen = every(three, { revision: 900, raftIndex: 1_000 });
  judged(memory, seen);
  const empty = { revision: 1, raftIndex: 4, linearizable: true };
  for (const stranger of [
    { ...empty, clusterID: "other", memberID: "stranger" },
    { ...empty, clusterID: "other" },
    { ...empty, memberID: "stranger" },
  ]) {
    const crossed = at(seen, "demo-2", stranger);
    assert.deepEqual(judged(memory, crossed), []);
    assert.equal(viewOf(crossed).members[1]?.healthy, false, "until it answers itself");
    assert.deepEqual(judged(memory, seen), []);
  }
  assert.equal(judged(memory, at(seen, "demo-2", empty)).length, 1, "and what it held is still known");
});

test("another member under another record has nothing to remember, and another life neither", () => {
  const memory = new Memory();
  judged(memory, every(three, { revision: 900, raftIndex: 1_000 }));
  const next = change(three, "demo-2", ({ record }) => ({ record: { ...record, uid: "another" } }));
  const fresh = every(next, { revision: 900, raftIndex: 1_000 });
  assert.deepEqual(judged(memory, at(fresh, "demo-2", { raftIndex: 3 })), []);
  const { established: _, ...marks } = three.cluster.marks;
  const unborn = { ...three, cluster: { ...three.cluster, marks } };
  assert.deepEqual(judged(memory, every(unborn, { revision: 1, raftIndex: 1 })), []);
});

function approving(world: Observation, approved: string): Observation {
  return { ...world, cluster: { ...world.cluster, approved } };
}

test("older data that somebody put back is accepted by the word that names what was seen, and by no other", () => {
  const memory = new Memory();
  judged(memory, every(three, { revision: 900, raftIndex: 1_000 }));
  const restored = every(three, { revision: 300, raftIndex: 7 });
  assert.equal(judged(memory, restored).length, 3);
  for (const word of ["accept-data-300", "accept-data-", "replace-demo-1"])
    assert.equal(judged(memory, approving(restored, word)).length, 3, word);
  const later = every(three, { revision: 310, raftIndex: 17 });
  assert.deepEqual(judged(memory, approving(later, "accept-data-900")), []);
  assert.deepEqual(judged(memory, later), [], "also when the approval is taken away again");
  const lost = every(three, { revision: 1, raftIndex: 4 });
  assert.equal(judged(memory, approving(lost, "accept-data-900")).length, 3, "the next loss is another one");
});

test("one that forgot beside others that did not is never accepted", () => {
  const memory = new Memory();
  judged(memory, every(three, { revision: 900, raftIndex: 1_000 }));
  const one = at(every(three, { revision: 900, raftIndex: 1_000 }), "demo-2", { raftIndex: 7 });
  assert.equal(judged(memory, approving(one, "accept-data-900")).length, 1);
});

test("what a new operator knows by the status alone can be accepted as well", () => {
  const memory = new Memory();
  const restored = approving(at(one, "demo-1", { revision: 5 }), "accept-data-900");
  assert.deepEqual(judged(memory, restored, 900), []);
});

test("it knows when quorum was last seen, by a read through it and in this process only", () => {
  const memory = new Memory();
  const look = ({ cluster, members }: Observation, mark: number, status?: object) => {
    memory.judge(cluster, members, status as never, mark);
    return memory.quorumAt;
  };
  const status = { clusterID: three.cluster.marks.established?.clusterID, revision: 900 };
  assert.equal(look(every(three, { linearizable: false }), 5, status), undefined, "the status says no time");
  assert.equal(look(three, 10), 10);
  assert.equal(look(every(three, { linearizable: false }), 20), 10);
  assert.equal(look(three, 30), 30);
});

test("a short look tells how far the cluster has come and when; of another cluster it tells nothing", () => {
  const memory = new Memory();
  const clusterID = one.cluster.marks.established?.clusterID ?? assert.fail();
  judged(memory, at(one, "demo-1", { revision: 900 }));
  memory.noteRead({ clusterID, revision: 950 }, 7);
  assert.deepEqual([memory.revision, memory.quorumAt], [950, 7]);
  assert.deepEqual(memory.looks, [
    { revision: 900, at: 0 },
    { revision: 950, at: 7 },
  ]);
  memory.noteRead({ clusterID: "1234", revision: 5_000 }, 9);
  assert.deepEqual([memory.revision, memory.quorumAt], [950, 7]);
});
