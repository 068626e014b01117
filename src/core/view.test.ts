/** How what was seen is joined up: which entry is whose, who leads, which name is next, and what a plan does at its ends. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { decide } from "./decide.ts";
import type { Observation } from "./observation.ts";
import { describeStep } from "./messages/step-names.ts";
import { plan } from "./plan/plan.ts";
import { tolerance } from "./quorum.ts";
import { ordinalOf } from "./record.ts";
import { joining, missingRole, wantedLearners } from "./assess/size.ts";
import { sameStatus } from "./status/status-write.ts";
import { statusOf } from "./status/status.ts";
import { answering, asked, edit, exited, healthy, record, run } from "./testing/cluster.ts";
import { versionStep, type VersionFacts } from "./version/upgrade.ts";
import { raftLag, viewOf } from "./view.ts";
import { why } from "./status/why.ts";

const three = healthy();

test("an entry belongs to the record with its ID; a record without one is known by its peer URL", () => {
  const entryOf = (o: Observation) => viewOf(o).members[1]?.entry?.name;
  assert.equal(entryOf(three), "demo-2");
  assert.equal(entryOf(record(three, "demo-2", { memberID: undefined })), "demo-2");
  assert.equal(entryOf(record(three, "demo-2", { memberID: "gone" })), undefined);
  const other = three.members[0]?.record.address;
  assert.ok(other);
  assert.equal(entryOf(record(three, "demo-2", { address: other })), "demo-2", "the ID is stronger");
});

test("whoever answers as another member, for another cluster or without a leader is not healthy", () => {
  const well = (more: object) => viewOf(answering(three, "demo-2", more)).members[1]?.healthy;
  assert.equal(well({}), true);
  assert.equal(well({ memberID: "other" }), false);
  assert.equal(well({ clusterID: "other" }), false);
  assert.equal(well({ leaderID: "0" }), false);
  assert.equal(well({ linearizable: false }), false);
  const leads = viewOf(answering(three, "demo-1", { clusterID: "other" }));
  assert.equal(leads.leader, undefined);
});

test("the next name is one above all that were ever seen: records, etcd's list, leftovers, plans (H11)", () => {
  const next = (o: Observation) => viewOf(o).nextOrdinal;
  assert.equal(next(asked()), 1);
  assert.equal(next(three), 4);
  assert.equal(next({ ...three, platform: { ...three.platform, highestLeftover: 8 } }), 9);
  const marks = { ...three.cluster.marks, highestOrdinal: 6 };
  assert.equal(next({ ...three, cluster: { ...three.cluster, marks } }), 7);
  const list = three.etcd.list;
  const [entry] = list?.members ?? [];
  assert.ok(list && entry);
  const seen = (name: string): Observation => ({
    ...three,
    etcd: { ...three.etcd, list: { ...list, members: [...list.members, { ...entry, id: "9", name }] } },
  });
  assert.equal(next(seen("demo-7")), 8);
  assert.equal(next(seen("other-9")), 4);
  const planned = [{ name: "demo-5", peerURL: "https://demo-5.demo:2380" }];
  assert.equal(next(record(three, "demo-1", { boot: "New", initialCluster: planned })), 6);
  assert.equal(next(record(three, "demo-1", { boot: "Join", initialCluster: planned })), 4);
});

test("an ordinal is read from a name of this cluster, in the form that we write, and from no other", () => {
  assert.equal(ordinalOf("demo", "demo-12"), 12);
  for (const name of ["abcd-1", "demo-0", "demo-01", "demo-x", "demo-", "demo", "other-1", "demo-1234567890"])
    assert.equal(ordinalOf("demo", name), undefined, name);
});

test("the lag is counted behind the leader, and nobody is ahead of it", () => {
  const view = viewOf(answering(three, "demo-2", { raftAppliedIndex: 4 }));
  const [, second] = view.members;
  assert.ok(second && view.leader?.answer.reachable);
  assert.equal(raftLag(view, second), view.leader.answer.raftIndex - 4);
  const ahead = viewOf(answering(three, "demo-2", { raftAppliedIndex: 1_000_000 }));
  assert.equal(ahead.members[1] && raftLag(ahead, ahead.members[1]), 0);
  assert.deepEqual([0, 1, 2, 3, 5].map(tolerance), [0, 0, 0, 1, 2]);
});

test("on 3.5 a standing learner waits until all voters are there and nobody is being replaced (H8)", () => {
  const old = edit(healthy({ version: "3.5.35" }), { learners: 1 });
  const wanted = (o: Observation) => wantedLearners(viewOf(o));
  assert.equal(wanted(old), 1);
  assert.equal(wanted(edit(old, { replicas: 4 })), 0);
  assert.equal(wanted(record(old, "demo-3", { retiring: { reason: "it is old" } })), 0);
  assert.equal(wanted(edit(three, { learners: 2, replicas: 4 })), 2);
  assert.equal(missingRole(viewOf(edit(three, { learners: 1, replicas: 4 }))), "Voter");
  assert.equal(missingRole(viewOf(edit(three, { learners: 1 }))), "Learner");
});

test("on its way is who joins and has not, or is to vote and does not", () => {
  const names = (o: Observation) => joining(viewOf(o)).map(({ name }) => name);
  const grown = run(edit(three, { replicas: 4, learners: 1 }));
  assert.deepEqual(names(grown), []);
  assert.deepEqual(names(record(grown, "demo-4", { joined: false })), ["demo-4"]);
  const list = grown.etcd.list && {
    ...grown.etcd.list,
    members: grown.etcd.list.members.map((e) => (e.name === "demo-4" ? { ...e, isLearner: true } : e)),
  };
  assert.deepEqual(names({ ...grown, etcd: { ...grown.etcd, list } }), ["demo-4"]);
  assert.deepEqual(names(record(grown, "demo-1", { joined: false })), [], "founders do not join");
});

test("a plan ends converged, with the deletion, or with the waits that only the world can end", () => {
  assert.deepEqual(plan(three), { steps: [], end: { converged: true } });
  const deleting = plan({ ...three, cluster: { ...three.cluster, deleting: true } });
  assert.equal(deleting.end.converged, true);
  assert.equal(deleting.steps.map(describeStep).at(-1), "finish deletion");
  assert.equal(deleting.steps.length, 7);
  const stuck = plan(edit(three, { paused: true }));
  assert.deepEqual(stuck.steps, []);
  assert.ok(!stuck.end.converged);
  assert.deepEqual(
    stuck.end.holds.map(({ reason }) => reason),
    ["Paused"],
  );
  const waits = plan(exited(three, "demo-2", "data-missing"));
  assert.equal(waits.end.converged, true);
  const later = exited(three, "demo-2", "data-differs");
  assert.equal(plan(later).end.converged, true, "what a later look can decide is planned too");
});

test("what is asked about a cluster is answered with what happens, or whom it waits for", () => {
  const summary = (o: Observation) => why(decide(o)).summary;
  assert.equal(
    summary(edit(three, { replicas: 4 })),
    "In progress: create member demo-4 (demo-4 joins as a voter).",
  );
  const asleep = run(edit(three, { replicas: 0 }));
  assert.equal(summary(asleep), "Nothing to do: hibernated; the data of 3 members is retained.");
  assert.match(summary(edit(three, { paused: true })), /^Waiting for a person: spec\.paused is true/);
  assert.match(summary(exited(three, "demo-2")), /^Waiting: demo-2 is down/);
  const held = why(decide(exited(edit(three, { options: { logLevel: "Debug" }, replicas: 4 }), "demo-2")));
  assert.ok(held.reasons.length > 0);
});

test("what was held back is reported as what comes next", () => {
  const full = edit(three, { replicas: 2, maintenance: { hashCheck: { interval: "0s" } } });
  const heldBack = decide({ ...full, cluster: { ...full.cluster, invalid: "no such field" } });
  assert.deepEqual(heldBack.heldBack.map(describeStep), ["leave demo-3"]);
  assert.deepEqual(why(heldBack).then, ["leave demo-3"]);
});

const facts = (members: string[], more: Partial<VersionFacts> = {}): VersionFacts => ({
  members,
  batchJoined: false,
  ...more,
});

test("the lowest member bounds the way up: its floor first, then one minor, then the target", () => {
  const step = (members: string[], target: string) => versionStep(facts(members), target);
  assert.deepEqual(step(["3.5.31", "3.6.16"], "3.6.16"), { kind: "run", to: "3.5.35", final: false });
  assert.deepEqual(step(["3.6.16", "3.5.31", "3.5.35"], "3.6.16"), {
    kind: "run",
    to: "3.5.35",
    final: false,
  });
  assert.deepEqual(step(["3.5.32"], "3.6.16"), { kind: "run", to: "3.6.16", final: true });
  assert.deepEqual(step([], "3.6.11"), { kind: "run", to: "3.6.11", final: true });
  const passed = { kind: "run", to: "3.5.35", final: false, snapshots: "often" };
  assert.deepEqual(step(["3.4.45"], "3.6.16"), passed, "3.4 keeps requests of the v2 store in its log (H5)");
  assert.equal(step([], "3.6.10").kind, "refused");
  assert.equal(step([], "three").kind, "refused");
  assert.equal(step(["3.6.16"], "three").kind, "refused");
  assert.equal(step(["3.6.16"], "3.9.0").kind, "refused");
  assert.equal(step(["3.3.1"], "3.6.16").kind, "refused");
  assert.equal(step(["3.6.16"], "3.5.20").kind, "refused", "below the floor, one minor down");
});

test("numbers that move with every request are written when they moved by more than a tenth, and not often", () => {
  const status = statusOf(three, decide(three), undefined);
  const size = (dbSize: number, revision = 1000) => ({
    ...status,
    revision,
    members: (status.members ?? []).map((member) => ({ ...member, dbSize, dbSizeInUse: 10, raftLag: 0 })),
  });
  const same = (dbSize: number, ms: number) => sameStatus(size(1000), size(dbSize), ms);
  assert.equal(same(2000, 599_999), true);
  assert.equal(same(1100, 600_000), true);
  assert.equal(same(1101, 600_000), false);
  assert.equal(sameStatus(size(1000), size(1000, 1101), 600_000), false);
  assert.equal(sameStatus(size(1000), size(1000, 1100), 600_000), true);
});
