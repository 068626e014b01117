/** Members and versions on their way: joins, scale-out and rollouts, each seen in the midst of it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { MemberFacts, Observation } from "../observation.ts";
import { decide } from "../decide.ts";
import { predict } from "../plan/predict.ts";
import { startHash } from "../template/template.ts";
import { NOW, answering, change, edit, exited, healthy, record, run } from "../testing/cluster.ts";
import { says } from "../testing/says.ts";
import { establish } from "./establish.ts";
import { finishJoins } from "./finish-joins.ts";
import { closeOldLog, leaveOldLog, rememberOldLog } from "./old-log.ts";
import { rollout } from "./rollout.ts";
import { scaleOut } from "./scale-out.ts";
import { viewOf } from "../view.ts";

const three = healthy();
const silent = (o: Observation, name: string) =>
  change(o, name, { answer: { reachable: false, error: "connection refused" } });
const listed = (o: Observation, name: string, more: { name?: string; isLearner?: boolean }): Observation => ({
  ...o,
  etcd: {
    ...o.etcd,
    list: o.etcd.list && {
      ...o.etcd.list,
      members: o.etcd.list.members.map((entry) => (entry.name === name ? { ...entry, ...more } : entry)),
    },
  },
});

/** demo-4 joins three others: etcd knows it, and it was permitted to start. */
function starting(): Observation {
  let world = edit(three, { replicas: 4 });
  for (let act = decide(world).act; act; act = decide(world).act) {
    world = predict(world, act.action);
    if (act.action.kind === "UpdateMember" && act.action.purpose === "permit-start") break;
  }
  return silent(listed(world, "demo-4", { name: "" }), "demo-4");
}

test("a joiner that runs is waited for, and nudged after two seconds of silence, again and again", () => {
  const joining = starting();
  assert.deepEqual(says(finishJoins, joining), ["MemberStarting for 2000 ms"]);
  const at = (ms: number, o = joining): Observation => ({ ...o, now: NOW + ms });
  assert.deepEqual(says(finishJoins, at(1_999)), ["MemberStarting for 1 ms"]);
  assert.deepEqual(says(finishJoins, at(2_000)), ["join: nudge the log"]);
  const nudged = { ...joining, etcd: { ...joining.etcd, nudgedAt: NOW + 2_000 } };
  assert.deepEqual(says(finishJoins, at(3_000, nudged)), ["MemberStarting for 1000 ms"]);
  const waiting = change(joining, "demo-4", {
    workload: { state: "waiting", reason: "no node fits", since: NOW },
  });
  assert.deepEqual(says(finishJoins, at(9_000, waiting)), ["MemberStarting"]);
});

test("a list that went stale before its member started is rebuilt; who had started keeps its own (H7)", () => {
  const joining = starting();
  const stale = record(joining, "demo-4", { initialCluster: [] });
  const old = change(stale, "demo-4", ({ record: known, workload }) => ({
    workload: workload.state === "running" ? { ...workload, startedFrom: startHash(known) } : workload,
  }));
  assert.deepEqual(says(finishJoins, old), ["heal: rebuild-list demo-4"]);
  const named = listed(old, "", { name: "demo-4" });
  assert.deepEqual(says(finishJoins, named), ["MemberStarting for 2000 ms"]);
  const mismatch = (cause: "member-list-mismatch" | "killed") =>
    change(named, "demo-4", ({ workload }) => ({
      workload: {
        state: "exited",
        since: NOW,
        restarts: 1,
        cause,
        detail: "",
        startedFrom: ("startedFrom" in workload && workload.startedFrom) || "",
      },
    }));
  assert.deepEqual(says(finishJoins, mismatch("member-list-mismatch")), ["heal: rebuild-list demo-4"]);
  assert.deepEqual(says(finishJoins, mismatch("killed")), [], "what is wrong with it is for other rules");
});

test("one that runs with an old list is stopped, once", () => {
  const joining = starting();
  const outdated = change(joining, "demo-4", ({ workload }) => ({
    workload: workload.state === "running" ? { ...workload, startedFrom: "older" } : workload,
  }));
  assert.deepEqual(says(finishJoins, outdated), ["heal: stop workload demo-4"]);
  const stopping = change(outdated, "demo-4", {
    workload: { state: "stopping", since: NOW, startedFrom: "older" },
  });
  assert.deepEqual(says(finishJoins, stopping), ["MemberStarting"]);
});

test("nobody is added while a voter is down, or on 3.5 while there is a learner (R19, H1)", () => {
  let world = edit(three, { replicas: 4 });
  const { act } = decide(world);
  assert.ok(act);
  world = predict(world, act.action);
  assert.deepEqual(says(finishJoins, world), ["join: add learner demo-4"]);
  assert.deepEqual(says(finishJoins, exited(world, "demo-2")), ["MemberUnhealthy"]);
  assert.deepEqual(says(finishJoins, change(world, "demo-4", { deleting: true })), []);
  const standing = listed(world, "demo-3", { isLearner: true });
  assert.deepEqual(says(finishJoins, standing), ["join: add learner demo-4"]);
  const old = record(standing, "demo-1", {
    template: { ...viewOf(three).members[0]!.record.template, version: "3.5.35" },
  });
  assert.deepEqual(says(finishJoins, old), ["LearnerBehind"]);
});

test("a newcomer is recorded only when nobody leaves, is down or is on its way in", () => {
  const grow = edit(three, { replicas: 4 });
  const leaving = { reason: "it goes", volume: "Retain" } as const;
  assert.deepEqual(says(scaleOut, grow), ["join: create member demo-4"]);
  assert.deepEqual(says(scaleOut, record(grow, "demo-3", { leaving })), ["Stopping"]);
  assert.deepEqual(says(scaleOut, exited(grow, "demo-2")), ["MemberUnhealthy"]);
  assert.deepEqual(says(scaleOut, edit(starting(), { replicas: 5 })), ["MemberStarting"]);
  assert.deepEqual(says(scaleOut, three), []);
  const none = { ...grow, platform: { ...grow.platform, offers: [] } };
  assert.deepEqual(says(scaleOut, none), ["NoAddress"]);
});

test("a rollout waits for whoever is ill, if there is anything to roll or to tell etcd", () => {
  const debug = edit(three, { options: { logLevel: "Debug" } });
  assert.deepEqual(says(rollout, exited(debug, "demo-2")), ["MemberUnhealthy"]);
  assert.deepEqual(says(rollout, exited(three, "demo-2")), []);
  const down = edit(healthy({ version: "3.7.3" }), { version: "3.6.16" });
  assert.deepEqual(says(rollout, down), ["roll: enable downgrade to 3.6.0"]);
  assert.deepEqual(says(rollout, exited(down, "demo-2")), ["MemberUnhealthy"]);
  assert.deepEqual(says(rollout, edit(three, { version: "3.9.0" })), ["VersionRefused"]);
});

test("a downgrade is prepared by etcd before a binary changes, one member's word is enough", () => {
  const down = edit(healthy({ version: "3.7.3" }), { version: "3.6.16" });
  const downgrade = { enabled: true, target: "3.6.0" };
  const told = answering(down, "demo-2", { downgrade });
  assert.deepEqual(says(rollout, told), ["DowngradePreparing for 1000 ms"]);
  const spoken = { ...told, etcd: { ...told.etcd, clusterVersion: "3.6" } };
  assert.deepEqual(says(rollout, spoken), ["DowngradePreparing for 1000 ms"]);
  const ready = ["demo-1", "demo-2", "demo-3"].reduce<Observation>(
    (o, name) => answering(o, name, { storageVersion: "3.6.0" }),
    spoken,
  );
  assert.deepEqual(says(rollout, ready), ["roll: roll demo-3"]);
  assert.deepEqual(says(rollout, edit(told, { version: "3.7.3" })), ["revert: cancel downgrade"]);
});

test("the cluster version is waited for once all run the next minor", () => {
  const raised = { ...healthy({ version: "3.7.3" }) };
  const behind = { ...raised, etcd: { ...raised.etcd, clusterVersion: "3.6" } };
  assert.deepEqual(says(rollout, behind), ["ClusterVersionBehind for 1000 ms"]);
  assert.deepEqual(says(rollout, raised), []);
  assert.deepEqual(says(rollout, { ...raised, etcd: { ...raised.etcd, clusterVersion: undefined } }), []);
});

test("the first to run a change is given three seconds, unless nobody asked for a canary", () => {
  let world = edit(three, { options: { logLevel: "Debug" } });
  for (let i = 0; i < 2; i++) world = predict(world, decide(world).act!.action);
  assert.deepEqual(says(rollout, world), ["MemberStarting for 3000 ms"]);
  assert.deepEqual(says(rollout, { ...world, now: NOW + 3_000 }), ["roll: roll demo-2"]);
  assert.deepEqual(says(rollout, edit(world, { update: { canary: false } })), ["roll: roll demo-2"]);
});

test("an image that holds another version than asked for is told, and nobody follows it", () => {
  const other = answering(three, "demo-3", { version: "3.6.12" });
  assert.deepEqual(says(rollout, other), ["VersionMismatch"]);
  const old = change(other, "demo-3", ({ workload }) => ({
    workload: workload.state === "running" ? { ...workload, startedFrom: "older" } : workload,
  }));
  assert.deepEqual(says(rollout, old), [], "it does not run what its record says yet");
});

test("a cluster is seen to exist by a founder that serves, or by one who had joined; no newcomer proves it (I3)", () => {
  const unmarked: Observation = {
    ...three,
    cluster: { ...three.cluster, marks: { life: 1, highestOrdinal: 0 } },
    members: three.members.map((facts) => ({ ...facts, record: { ...facts.record, joined: false } })),
  };
  const only = (more: Partial<MemberFacts["record"]>) => {
    const rest = ["demo-2", "demo-3"].reduce((o, name) => silent(o, name), unmarked);
    return record(rest, "demo-1", more);
  };
  assert.deepEqual(says(establish, only({})), ["record: mark establish"]);
  assert.deepEqual(says(establish, only({ boot: "Join" })), []);
  assert.deepEqual(says(establish, only({ boot: "Join", joined: true })), ["record: mark establish"]);
  assert.deepEqual(says(establish, answering(only({}), "demo-1", { leaderID: "0" })), []);
  assert.deepEqual(says(establish, answering(only({}), "demo-1", { memberID: "another" })), []);
  assert.deepEqual(says(establish, listed(only({}), "demo-1", { name: "" })), []);
});

test("who serves is latched in order, and only as a member of this very cluster (H3)", () => {
  const fresh = record(record(three, "demo-2", { joined: false }), "demo-3", { joined: false });
  assert.deepEqual(says(establish, fresh), ["record: latch-joined demo-2"]);
  assert.deepEqual(says(establish, answering(fresh, "demo-2", { clusterID: "other" })), [
    "record: latch-joined demo-3",
  ]);
  assert.deepEqual(says(establish, silent(fresh, "demo-2")), ["record: latch-joined demo-3"]);
});

/** All on 3.6, with what 3.5 wrote up to entry 5000 in their log. */
function passing(until?: number): Observation {
  const world = run(edit(healthy({ version: "3.5.35" }), { version: "3.6.16" }));
  const marks = { ...world.cluster.marks, oldLog: { minor: "3.5", ...(until !== undefined && { until }) } };
  return { ...world, cluster: { ...world.cluster, marks } };
}
const step = (outcome: ReturnType<typeof closeOldLog>) =>
  outcome && ("act" in outcome ? outcome.act.action : outcome.hold.reason);

test("the old log is closed at the highest index that anybody has, once everybody has left the old minor", () => {
  const world = answering(passing(), "demo-2", { raftIndex: 7_000 });
  const closed = step(closeOldLog(viewOf(world)));
  assert.deepEqual(typeof closed === "object" && closed.kind === "MarkCluster" && closed.change, {
    oldLog: { minor: "3.5", until: 7_000 },
  });
  assert.equal(closeOldLog(viewOf(passing(7_000))), undefined);
  const speaks = { ...world, etcd: { ...world.etcd, clusterVersion: "3.5" } };
  assert.equal(closeOldLog(viewOf(speaks)), undefined);
  const one = record(world, "demo-3", {
    template: { ...viewOf(world).members[2]!.record.template, version: "3.5.35" },
  });
  assert.equal(closeOldLog(viewOf(one)), undefined);
  assert.equal(step(leaveOldLog(viewOf(one))), "ClusterVersionBehind");
});

test("the log is advanced by what the last member lacks, and forgotten when nobody does (H5)", () => {
  const all = (o: Observation, raftAppliedIndex: number) =>
    ["demo-1", "demo-2", "demo-3"].reduce((each, name) => answering(each, name, { raftAppliedIndex }), o);
  const far = all(passing(5_000), 15_200);
  const done = step(leaveOldLog(viewOf(far)));
  assert.equal(typeof done === "object" && done.kind === "MarkCluster" && done.purpose, "forget-old-log");
  const near = step(leaveOldLog(viewOf(answering(far, "demo-2", { raftAppliedIndex: 15_100 }))));
  assert.deepEqual(near, { kind: "AdvanceLog", entries: 100 });
});

test("what 3.5 wrote is remembered before its first member leaves it, by the lowest of those that do", () => {
  const world = healthy({ version: "3.5.35" });
  const remembered = (o: Observation, to: string) => {
    const view = viewOf(o);
    const action = step(rememberOldLog(view, view.members, to));
    return typeof action === "object" && action.kind === "MarkCluster"
      ? action.change.oldLog?.minor
      : undefined;
  };
  assert.equal(remembered(world, "3.6.16"), "3.5");
  assert.equal(remembered(world, "3.5.33"), undefined);
  assert.equal(remembered(three, "3.7.3"), undefined, "3.6 keeps nothing of the kind");
  const mixed = record(three, "demo-3", {
    template: { ...viewOf(three).members[2]!.record.template, version: "3.5.35" },
  });
  assert.equal(remembered(mixed, "3.6.16"), "3.5");
});
