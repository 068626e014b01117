import assert from "node:assert/strict";
import { test } from "node:test";
import { asked, edit, exited, healthy } from "../testing/cluster.ts";
import { outline, type Risk } from "./outline.ts";

function stops(observation: Parameters<typeof outline>[0]): [number | undefined, Risk][] {
  return outline(observation)
    .steps.filter(({ step }) => step.startsWith("stop workload"))
    .map(({ headroom, risk }) => [headroom, risk]);
}

test("of three voters none may fail while one restarts, and each restart says so", () => {
  assert.deepEqual(stops(edit(healthy(), { version: "3.6.17" })), [
    [0, "elevated"],
    [0, "elevated"],
    [0, "elevated"],
  ]);
});

test("of five voters another one may fail while one restarts", () => {
  const world = edit(healthy({ replicas: 5 }), { version: "3.6.17" });
  assert.deepEqual(
    new Set(stops(world).map(([headroom, risk]) => `${headroom} ${risk}`)),
    new Set(["1 low"]),
  );
});

test("a single voter that restarts is an outage for as long as it takes", () => {
  assert.deepEqual(stops(edit(healthy({ replicas: 1 }), { version: "3.6.17" })), [[-1, "outage"]]);
});

test("records and marks are no risk, and show the headroom there is", () => {
  const [first] = outline(edit(healthy(), { version: "3.6.17" })).steps;
  assert.deepEqual([first?.headroom, first?.risk], [1, "none"]);
});

test("while a cluster is being founded there is no quorum to count with", () => {
  const [first] = outline(asked()).steps;
  assert.equal(first?.headroom, undefined);
  assert.equal(first?.risk, "none");
});

test("what a plan ends with is its waits, with what to do", () => {
  const world = exited(healthy(), "demo-2", "data-missing");
  const { converged, waiting } = outline({
    ...world,
    cluster: { ...world.cluster, spec: { ...world.cluster.spec, paused: true } },
  });
  assert.equal(converged, false);
  assert.match(waiting[0]?.message ?? "", /paused/);
});
