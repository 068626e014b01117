import assert from "node:assert/strict";
import { test } from "node:test";
import type { MemberStatus } from "../etcd/types.ts";
import { NoMemberError, orderCandidates, type Candidate } from "./choose.ts";

function member(
  name: string,
  applied: bigint,
  more: Partial<MemberStatus> & { cluster?: bigint } = {},
): Candidate {
  const { cluster = 1n, ...fields } = more;
  return {
    endpoint: { name, url: `http://${name}:2379` },
    status: {
      header: { clusterId: cluster, memberId: 1n, revision: 1n, raftTerm: 1n },
      version: "3.6.16",
      dbSize: 1,
      dbSizeInUse: 1,
      leader: 7n,
      isLeader: false,
      isLearner: false,
      raftIndex: applied,
      raftTerm: 1n,
      raftAppliedIndex: applied,
      errors: [],
      ...fields,
    },
  };
}

const order = (...candidates: Candidate[]) =>
  orderCandidates(candidates).map(({ endpoint }) => endpoint.name);

test("the freshest follower is preferred to the leader", () => {
  assert.deepEqual(order(member("leader", 1000n, { isLeader: true }), member("b", 990n), member("c", 999n)), [
    "c",
    "b",
    "leader",
  ]);
});

test("the leader is preferred to followers that are far behind", () => {
  assert.deepEqual(order(member("a", 10_000n), member("leader", 90_000n, { isLeader: true })), [
    "leader",
    "a",
  ]);
});

test("without quorum the survivor that has applied most is taken", () => {
  assert.deepEqual(order(member("a", 5n, { leader: 0n }), member("b", 9n, { leader: 0n })), ["b", "a"]);
});

test("a learner is taken only when there is no voter", () => {
  assert.deepEqual(order(member("learner", 99n, { isLearner: true }), member("a", 9n)), ["a"]);
  assert.deepEqual(order(member("learner", 99n, { isLearner: true })), ["learner"]);
});

test("a member with the alarm CORRUPT sends no snapshot", () => {
  const corrupt = member("a", 99n, { errors: ["memberID:1 alarm:CORRUPT "] });
  assert.deepEqual(order(corrupt, member("b", 9n)), ["b"]);
  assert.throws(() => order(corrupt), /alarm CORRUPT/);
});

test("endpoints of two clusters are refused, and so is no answer at all", () => {
  assert.throws(() => order(member("a", 1n), member("b", 1n, { cluster: 0xbeefn })), /beef at b/);
  const silent = { endpoint: { url: "http://x:1" }, error: new Error("connection refused") };
  assert.throws(
    () => order(silent),
    (error) => error instanceof NoMemberError && /connection refused/.test(error.message),
  );
});
