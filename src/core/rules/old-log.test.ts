import assert from "node:assert/strict";
import { test } from "node:test";
import type { Observation } from "../observation.ts";
import { describeStep, plan } from "../plan.ts";
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
    // The leader keeps 5000 entries in memory, whatever is in its snapshot.
    [{ snapshotCount: 100 }, 1_000, ["advance the log"]],
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

test("a cluster that began with 3.6 has no such log", () => {
  assert.deepEqual(told(edit(healthy({ version: "3.6.16" }), { version: "3.7.3" })), rolls);
});

test("a visit to 3.5 brings it back", () => {
  const down = run(edit(healthy({ version: "3.6.16" }), { version: "3.5.35" }));
  const up = run(edit(down, { version: "3.6.16" }));
  assert.equal(up.cluster.marks.oldLog?.minor, "3.5");
});
