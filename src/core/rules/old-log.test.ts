import assert from "node:assert/strict";
import { test } from "node:test";
import type { Observation } from "../observation.ts";
import { describeStep, plan } from "../plan/plan.ts";
import { edit, healthy, run } from "../testing/cluster.ts";

/** Steps without those that every roll has; who is rolled when is another matter. */
function told(observation: Observation): string[] {
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
  assert.deepEqual(told(edit(healthy({ version: "3.5.35" }), { version: "3.7.3" })), [
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
    assert.deepEqual(told(edit(further(onTheWay, entries), { version: "3.7.3" })), [
      ...advance,
      "mark forget-old-log",
      ...rolls,
    ]);
  }
});

test("where newcomers are the rollout, the leader's memory counts too (H4)", () => {
  const memory = { version: "3.5.35", replicas: 1, storage: { medium: "Memory" } } as const;
  const onTheWay = run(edit(healthy({ ...memory, options: { snapshotCount: 100 } }), { version: "3.6.16" }));
  assert.equal(told(edit(further(onTheWay, 5_199), { version: "3.7.3" }))[0], "advance the log");
  assert.equal(told(edit(further(onTheWay, 5_201), { version: "3.7.3" }))[0], "mark forget-old-log");
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
  assert.deepEqual(told(edit(healthy({ version: "3.6.16" }), { version: "3.7.3" })), rolls);
});

test("a visit to 3.5 brings it back", () => {
  const down = run(edit(healthy({ version: "3.6.16" }), { version: "3.5.35" }));
  const up = run(edit(down, { version: "3.6.16" }));
  assert.equal(up.cluster.marks.oldLog?.minor, "3.5");
});
