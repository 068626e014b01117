import assert from "node:assert/strict";
import { test } from "node:test";
import { decide } from "../decide.ts";
import type { EtcdMemberEntry, Observation } from "../observation.ts";
import { predict } from "../plan/predict.ts";
import { statusOf } from "../status/status.ts";
import { why } from "../status/why.ts";
import { edit, exited, healthy } from "../testing/cluster.ts";
import { says } from "../testing/says.ts";
import { unrecordedMembers } from "./unrecorded-members.ts";

function withEntry(observation: Observation, entry: Partial<EtcdMemberEntry>): Observation {
  const { list } = observation.etcd;
  assert.ok(list);
  const stranger = {
    id: "abc",
    name: "",
    peerURLs: ["http://x:1"],
    clientURLs: [],
    isLearner: false,
    ours: false,
    ...entry,
  };
  return {
    ...observation,
    etcd: { ...observation.etcd, list: { ...list, members: [...list.members, stranger] } },
  };
}

test("a ghost of ours is removed", () => {
  const { act } = decide(withEntry(healthy(), { ours: true, name: "demo-9" }));
  assert.equal(act?.action.kind === "RemoveFromEtcd" && act.action.memberID, "abc");
});

test("one whose record was not confirmed to be gone is no ghost, and nobody takes its place", () => {
  const world = withEntry(edit(healthy(), { replicas: 5 }), { ours: true, recordUnconfirmed: true });
  const { act, holds } = decide(world);
  assert.equal(act, undefined);
  assert.equal(holds[0]?.reason, "RecordUnconfirmed");
});

test("beside a voter whose record is not found nobody is promoted, since nobody sees whether it is well (I2)", () => {
  const { list } = healthy().etcd;
  assert.ok(list);
  const learner = { ...list, members: list.members.map((e) => ({ ...e, isLearner: e.name === "demo-3" })) };
  const waits = { ...healthy(), etcd: { ...healthy().etcd, list: learner } };
  assert.equal(decide(waits).act?.action.kind, "Promote");
  const unconfirmed = { ours: true, recordUnconfirmed: true };
  const beside = decide(withEntry(waits, unconfirmed));
  assert.equal(beside.act, undefined);
  assert.deepEqual(
    beside.holds.map(({ reason }) => reason),
    ["RecordUnconfirmed", "MemberUnhealthy"],
  );
  assert.match(
    beside.holds[1]?.message ?? "",
    /demo-3 can be promoted once the record of abc is found, or etcd/,
  );
  const standing = decide(withEntry(waits, { ...unconfirmed, isLearner: true }));
  assert.equal(standing.act?.action.kind, "Promote", "a learner has no vote that may be missing");
});

test("a ghost is left while removing it would cost the quorum", () => {
  const { act } = decide(exited(exited(withEntry(healthy(), { ours: true }), "demo-2"), "demo-3"));
  assert.equal(act, undefined);
});

test("a foreign member is reported and left alone (I9)", () => {
  const { act, holds, converged } = decide(withEntry(healthy(), { name: "someone", isLearner: true }));
  assert.equal(act, undefined);
  assert.ok(converged);
  assert.equal(holds[0]?.reason, "ForeignMember");
  assert.match(holds[0]?.message ?? "", /someone \(abc/);
});

/** What the status says, and what `why` does. */
function reported(observation: Observation) {
  const decision = decide(observation);
  const { conditions = [], message } = statusOf(observation, decision, undefined);
  const degraded = conditions.find(({ type }) => type === "Degraded");
  return { degraded, message, summary: why(decision).summary };
}

test("a foreign learner is in the conditions, the message and why, with how to remove it", () => {
  const { degraded, message, summary } = reported(withEntry(healthy(), { name: "someone", isLearner: true }));
  assert.deepEqual([degraded?.status, degraded?.reason], ["True", "ForeignMember"]);
  assert.match(
    degraded?.message ?? "",
    /someone \(abc, http:\/\/x:1\), a learner that this cluster did not add\.$/,
  );
  assert.match(message ?? "", /^etcd lists someone .*etcdctl member remove abc/);
  assert.match(summary, /^Needs attention: etcd lists someone/);
});

test("a foreign voter that never started costs the spare of three: none may fail now, and that is reported", () => {
  const { degraded, message } = reported(withEntry(healthy(), {}));
  assert.deepEqual([degraded?.status, degraded?.reason], ["True", "ForeignMember"]);
  const cost = /it counts in the quorum and has never started; none may fail now/;
  assert.match(degraded?.message ?? "", cost);
  assert.match(message ?? "", cost);
  const five = reported(withEntry(healthy({ replicas: 5 }), {}));
  assert.doesNotMatch(five.degraded?.message ?? "", /none may fail/);
});

test("on 3.5 the member that takes the only place for learners is named to those who wait for it", () => {
  const world = edit(healthy({ replicas: 3, version: "3.5.35" }), { replicas: 5 });
  const created = decide(world).act;
  assert.equal(created?.action.kind, "CreateMember");
  const stuck = withEntry(predict(world, created.action), { id: "f00", isLearner: true });
  const { act, holds } = decide(stuck);
  assert.equal(act, undefined);
  const hold = holds.find(({ classes }) => classes.length > 0);
  assert.equal(hold?.reason, "ForeignMember");
  assert.match(
    hold?.message ?? "",
    /demo-4 cannot join: etcd lists an unstarted member \(f00, .*the last place/,
  );
  assert.match(hold?.next ?? "", /member remove f00/);
});

const three = healthy();

test("a ghost of ours goes while the rest keeps quorum; it is called by its name, or by its ID", () => {
  const entry = three.etcd.list?.members[0];
  assert.ok(three.etcd.list && entry);
  const { list } = three.etcd;
  const ghost = (more: Partial<typeof entry>) => ({
    ...entry,
    id: "77",
    name: "demo-9",
    peerURLs: ["https://demo-9.demo:2380"],
    ...more,
  });
  const seen = (o: Observation, more: Partial<typeof entry> = {}): Observation => ({
    ...o,
    etcd: { ...o.etcd, list: { ...list, members: [...list.members, ghost(more)] } },
  });
  assert.deepEqual(says(unrecordedMembers, seen(three)), ["heal: remove from etcd demo-9"]);
  assert.deepEqual(says(unrecordedMembers, seen(three, { name: "" })), ["heal: remove from etcd 77"]);
  assert.deepEqual(says(unrecordedMembers, seen(three, { ours: false })), ["ForeignMember"]);
  assert.deepEqual(
    says(unrecordedMembers, seen(exited(three, "demo-2"))),
    [],
    "two of four voters are no quorum",
  );
  const pair = { ...seen(exited(three, "demo-2"), { isLearner: true }) };
  assert.deepEqual(says(unrecordedMembers, pair), ["heal: remove from etcd demo-9"]);
});
