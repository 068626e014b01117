import assert from "node:assert/strict";
import { test } from "node:test";
import type { Observation } from "../observation.ts";
import { describeStep } from "../messages/step-names.ts";
import { plan } from "../plan/plan.ts";
import { answering, edit, healthy, record, run } from "../testing/cluster.ts";
import { viewOf } from "../view.ts";
import { closeOldLog, leaveOldLog, rememberOldLog } from "./old-log.ts";

/** Steps without those that every roll has; who is rolled when is another matter. */
function reported(observation: Observation): string[] {
  const { steps, end } = plan(observation);
  assert.ok(end.converged, JSON.stringify(end));
  return steps
    .map(describeStep)
    .filter((step) => !/^(stop workload|move leader)/.test(step))
    .map((step) => step.replace(/^roll .*/, "roll"));
}

function further(observation: Observation, entries: number): Observation {
  const members = observation.members.map((facts) => {
    if (!facts.answer.reachable) return facts;
    const raftIndex = facts.answer.raftIndex + entries;
    return { ...facts, answer: { ...facts.answer, raftIndex, raftAppliedIndex: raftIndex } };
  });
  return { ...observation, members };
}

const rolls = ["roll", "roll", "roll"];

test("from 3.5 to 3.7 every member leaves the log of 3.5 behind a snapshot in between (H5)", () => {
  assert.deepEqual(reported(edit(healthy({ version: "3.5.35" }), { version: "3.7.3" })), [
    "mark remember-old-log",
    ...rolls,
    "mark close-old-log",
    "advance the log",
    "mark forget-old-log",
    ...rolls,
  ]);
});

test("entries that came by themselves count, up to each member's snapshot-count", () => {
  for (const [options, entries, advance] of [
    [{}, 10_199, ["advance the log"]],
    [{}, 10_201, []],
    [{ snapshotCount: 50_000 }, 10_201, ["advance the log"]],
    [{ snapshotCount: 100 }, 301, []],
  ] as const) {
    const onTheWay = run(edit(healthy({ version: "3.5.35", options }), { version: "3.6.16" }));
    assert.ok(onTheWay.cluster.marks.oldLog?.until !== undefined);
    assert.deepEqual(reported(edit(further(onTheWay, entries), { version: "3.7.3" })), [
      ...advance,
      "mark forget-old-log",
      ...rolls,
    ]);
  }
});

test("where newcomers are the rollout, the leader's memory counts too (H4)", () => {
  const memory = { version: "3.5.35", replicas: 1, storage: { medium: "Memory" } } as const;
  const onTheWay = run(edit(healthy({ ...memory, options: { snapshotCount: 100 } }), { version: "3.6.16" }));
  assert.equal(reported(edit(further(onTheWay, 5_199), { version: "3.7.3" }))[0], "advance the log");
  assert.equal(reported(edit(further(onTheWay, 5_201), { version: "3.7.3" }))[0], "mark forget-old-log");
});

test("a minor that is only passed through snapshots often, and what was asked for comes back with the last", () => {
  const { steps } = plan(edit(healthy({ version: "3.5.35" }), { version: "3.7.3" }));
  const counts = steps.flatMap(({ action }) =>
    action.kind === "UpdateMember" && action.change.template
      ? [[action.change.template.version, action.change.template.options.snapshotCount]]
      : [],
  );
  assert.deepEqual(counts, [
    ...Array.from({ length: 3 }, () => ["3.6.16", 500]),
    ...Array.from({ length: 3 }, () => ["3.7.3", undefined]),
  ]);
  const advance = steps.find(({ action }) => action.kind === "AdvanceLog")?.action;
  assert.ok(advance?.kind === "AdvanceLog" && advance.entries <= 701);
});

test("a cluster that began with 3.6 has no such log", () => {
  assert.deepEqual(reported(edit(healthy({ version: "3.6.16" }), { version: "3.7.3" })), rolls);
});

test("a visit to 3.5 brings it back", () => {
  const down = run(edit(healthy({ version: "3.6.16" }), { version: "3.5.35" }));
  const up = run(edit(down, { version: "3.6.16" }));
  assert.equal(up.cluster.marks.oldLog?.minor, "3.5");
});

/** All on 3.6, with what 3.5 wrote up to entry 5000 in their log. */
function passing(until?: number): Observation {
  const world = run(edit(healthy({ version: "3.5.35" }), { version: "3.6.16" }));
  const marks = { ...world.cluster.marks, oldLog: { minor: "3.5", ...(until !== undefined && { until }) } };
  return { ...world, cluster: { ...world.cluster, marks } };
}

const step = (outcome: ReturnType<typeof closeOldLog>) =>
  outcome && ("act" in outcome ? outcome.act.action : outcome.hold.reason);
const three = healthy();

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
