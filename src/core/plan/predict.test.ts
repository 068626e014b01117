/** What a plan takes each step to bring about, in a world where nothing fails. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Action } from "../action.ts";
import type { MemberFacts, Observation } from "../observation.ts";
import { predict } from "./predict.ts";
import { change, edit, healthy, leaderOf, NOW, run } from "../testing/cluster.ts";

const three = healthy();
const facts = (o: Observation, name: string): MemberFacts => {
  const found = o.members.find(({ record }) => record.name === name);
  assert.ok(found, `there is a ${name}`);
  return found;
};
const answer = (o: Observation, name: string) => {
  const { answer: said } = facts(o, name);
  assert.ok(said.reachable, `${name} answers`);
  return said;
};
const entries = (o: Observation) => o.etcd.list?.members ?? [];
const ordinals = (o: Observation) => o.members.map(({ record }) => record.ordinal);
const recordOf = (o: Observation, name: string) => facts(o, name).record;

test("a record that is made has a volume, takes its address, and stands in the order of ordinals", () => {
  const { uid: _uid, resourceVersion: _version, createdAt: _at, ...record } = recordOf(three, "demo-2");
  const blank = {
    ...record,
    joined: false,
    memberID: undefined,
    volumeUID: undefined,
    boot: "Join" as const,
  };
  const gap = { ...three, members: three.members.filter((one) => one.record.name !== "demo-2") };
  const next = predict(gap, { kind: "CreateMember", member: "demo-2", record: blank });
  assert.deepEqual(ordinals(next), [1, 2, 3]);
  const made = facts(next, "demo-2");
  assert.deepEqual(made.volume, { state: "ready", uid: "volume-of-demo-2" });
  assert.equal(made.workload.state, "absent");
  assert.equal(made.answer.reachable, false);
  assert.equal(made.deleting, false);
  assert.equal(made.record.createdAt, gap.now);
  assert.equal(
    next.platform.offers.some(({ ordinal }) => ordinal === 2),
    false,
  );
});

test("a change of a record is in it, under another version, and nobody else's record changes", () => {
  const retiring = { reason: "it is old" };
  const { resourceVersion } = recordOf(three, "demo-1");
  const action: Action = {
    kind: "UpdateMember",
    member: "demo-1",
    resourceVersion,
    change: { retiring },
    purpose: "retire",
  };
  const next = predict(three, action);
  assert.deepEqual(recordOf(next, "demo-1").retiring, retiring);
  assert.notEqual(recordOf(next, "demo-1").resourceVersion, resourceVersion);
  assert.deepEqual(recordOf(next, "demo-2"), recordOf(three, "demo-2"));
});

test("who is deleted is gone, and with it nobody else", () => {
  assert.deepEqual(ordinals(predict(three, { kind: "DeleteMember", member: "demo-2" })), [1, 3]);
});

test("a workload that is stopped is absent and silent, and started again only if its record says run", () => {
  const asleep = change(three, "demo-3", ({ record }) => ({ record: { ...record, run: false } }));
  const next = predict(asleep, { kind: "StopWorkload", member: "demo-3" });
  assert.equal(facts(next, "demo-3").workload.state, "absent");
  assert.equal(facts(next, "demo-3").answer.reachable, false);
  const again = facts(predict(three, { kind: "StopWorkload", member: "demo-3" }), "demo-3");
  assert.equal(again.workload.state, "running");
  assert.equal(again.answer.reachable, true);
});

test("a learner that was added is listed without a name until it starts; promoted, it votes", () => {
  const peerURL = "https://demo-9.demo:2380";
  const added = predict(three, { kind: "AddLearner", member: "demo-9", peerURL });
  const learner = entries(added).find(({ peerURLs }) => peerURLs.includes(peerURL));
  assert.ok(learner);
  assert.deepEqual(
    { name: learner.name, isLearner: learner.isLearner, ours: learner.ours },
    { name: "", isLearner: true, ours: true },
  );
  const promoted = predict(added, { kind: "Promote", member: "demo-9", memberID: learner.id });
  assert.deepEqual(
    entries(promoted).map(({ isLearner }) => isLearner),
    [false, false, false, false],
  );
});

test("who is removed is not listed and does not answer any more; the others do", () => {
  const memberID = recordOf(three, "demo-3").memberID ?? "";
  const next = predict(three, { kind: "RemoveFromEtcd", member: "demo-3", memberID });
  assert.deepEqual(
    entries(next).map(({ name }) => name),
    ["demo-1", "demo-2"],
  );
  assert.equal(facts(next, "demo-3").answer.reachable, false);
  assert.equal(answer(next, "demo-1").linearizable, true);
});

test("leadership moves to whom it was given, for everybody", () => {
  const next = predict(three, {
    kind: "MoveLeader",
    member: "demo-3",
    memberID: recordOf(three, "demo-3").memberID ?? "",
  });
  assert.notEqual(leaderOf(three), "demo-3");
  assert.equal(leaderOf(next), "demo-3");
  assert.equal(answer(next, "demo-1").leaderID, answer(next, "demo-3").memberID);
});

test("a compaction frees half, a defragmentation gives back what is free, and both are remembered", () => {
  const large = change(three, "demo-1", ({ answer: said }) => ({
    answer: said.reachable ? { ...said, dbSize: 8000, dbSizeInUse: 6001 } : said,
  }));
  const compacted = predict(large, { kind: "Compact", revision: 77 });
  assert.deepEqual(compacted.etcd.compacted, { revision: 77, at: NOW });
  assert.equal(answer(compacted, "demo-1").dbSizeInUse, 3000);
  assert.equal(answer(compacted, "demo-1").dbSize, 8000);
  const given = predict(compacted, { kind: "Defragment", member: "demo-1" });
  assert.deepEqual(given.etcd.defragmentedAt, { "demo-1": NOW });
  assert.equal(answer(given, "demo-1").dbSize, 3000);
  assert.equal(answer(given, "demo-1").dbSizeInUse, 3000);
  assert.equal(answer(given, "demo-2").dbSize, answer(compacted, "demo-2").dbSize);
});

test("an alarm that is disarmed is gone, and only that one", () => {
  const alarms = [
    { memberID: "a", alarm: "NOSPACE" },
    { memberID: "b", alarm: "CORRUPT" },
  ] as const;
  const armed = { ...three, etcd: { ...three.etcd, alarms } };
  const next = predict(armed, { kind: "Disarm", alarm: "NOSPACE", memberID: "a" });
  assert.deepEqual(next.etcd.alarms, [alarms[1]]);
});

test("entries that are added to the log are applied by everybody who answers", () => {
  const before = answer(three, "demo-2").raftIndex;
  const next = answer(predict(three, { kind: "AdvanceLog", entries: 500 }), "demo-2");
  assert.deepEqual([next.raftIndex, next.raftAppliedIndex], [before + 500, before + 500]);
});

test("a comparison and a nudge are remembered with their time", () => {
  const later = { ...three, now: NOW + 5 };
  assert.equal(predict(later, { kind: "CompareHashes" }).etcd.hashes?.at, NOW + 5);
  assert.equal(predict(later, { kind: "NudgeLog" }).etcd.nudgedAt, NOW + 5);
});

test("a downgrade that etcd was told of brings its versions down, and ends when nobody is above it", () => {
  const newer = healthy({ version: "3.7.3" });
  const reported = predict(newer, { kind: "EnableDowngrade", version: "3.6.0" });
  assert.equal(reported.etcd.clusterVersion, "3.6");
  assert.equal(answer(reported, "demo-1").storageVersion, "3.6.0");
  assert.deepEqual(answer(reported, "demo-1").downgrade, { enabled: true, target: "3.6.0" });
  const cancelled = predict(reported, { kind: "CancelDowngrade" });
  assert.equal(answer(cancelled, "demo-1").downgrade, undefined);
  assert.equal(cancelled.etcd.clusterVersion, "3.7");
  const down = run(edit(newer, { version: "3.6.16" }));
  assert.equal(answer(down, "demo-1").downgrade, undefined);
  assert.equal(down.etcd.clusterVersion, "3.6");
});

test("what a mark says is kept beside what was there", () => {
  const next = predict(three, {
    kind: "MarkCluster",
    purpose: "remember-batch",
    change: { batchJoined: true },
  });
  assert.deepEqual(next.cluster.marks, { ...three.cluster.marks, batchJoined: true });
});
