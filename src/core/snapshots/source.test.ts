import assert from "node:assert/strict";
import { test } from "node:test";
import type { Observation } from "../observation.ts";
import { healthy } from "../testing/cluster.ts";
import { viewOf } from "../view.ts";
import { sourcesOf } from "./source.ts";

const cluster = healthy({ replicas: 3 });

function withAnswers(change: (name: string, index: number) => object): Observation {
  return {
    ...cluster,
    members: cluster.members.map((member, index) => ({
      ...member,
      answer: { ...member.answer, ...change(member.record.name, index) } as typeof member.answer,
    })),
  };
}

const names = (observation: Observation) =>
  sourcesOf(viewOf(observation)).map((url) => /demo-\d/.exec(url)?.[0]);
const leader = viewOf(cluster).leader?.name ?? "";
const followers = cluster.members.map(({ record }) => record.name).filter((name) => name !== leader);

test("fresh followers come before the leader, and who has applied most comes first", () => {
  const [a = "", b = ""] = followers;
  const raftAppliedIndex = { [a]: 5_000, [b]: 5_100, [leader]: 5_200 };
  assert.deepEqual(names(withAnswers((name) => ({ raftAppliedIndex: raftAppliedIndex[name] }))), [
    b,
    a,
    leader,
  ]);
});

test("a follower that is far behind comes last", () => {
  const [a = "", b = ""] = followers;
  const raftAppliedIndex = { [a]: 10, [b]: 5_100, [leader]: 5_200 };
  assert.deepEqual(names(withAnswers((name) => ({ raftAppliedIndex: raftAppliedIndex[name] }))), [
    b,
    leader,
    a,
  ]);
});

test("a survivor without quorum does, and a learner, a corrupt member and one that is silent do not", () => {
  const [a = "", b = ""] = followers;
  const lonely = withAnswers((name) =>
    name === a ? { linearizable: false, leaderID: "0" } : { reachable: false },
  );
  assert.deepEqual(names(lonely), [a]);
  const id = viewOf(cluster).members.find(({ name }) => name === a)?.entry?.id ?? "";
  const etcd = { ...cluster.etcd, alarms: [{ memberID: id, alarm: "CORRUPT" } as const] };
  assert.ok(!names({ ...cluster, etcd }).includes(a));
  assert.ok(!names(withAnswers((name) => (name === b ? { isLearner: true } : {}))).includes(b));
});
