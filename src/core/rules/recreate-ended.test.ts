import assert from "node:assert/strict";
import { test } from "node:test";
import { decide } from "../decide.ts";
import type { Observation } from "../observation.ts";
import { change, exited, healthy, record } from "../testing/cluster.ts";
import { viewOf } from "../view.ts";
import { recreateEnded } from "./recreate-ended.ts";

/** Its Pod was evicted so many milliseconds ago, for the n-th time. */
function evicted(world: Observation, name: string, ends?: number, agoMs = 0): Observation {
  return change(exited(world, name), name, ({ workload }) => ({
    ends,
    workload: workload.state === "exited" ? { ...workload, ended: true, since: world.now - agoMs } : workload,
  }));
}

function says(world: Observation): string[] {
  return recreateEnded(viewOf(world)).map((outcome) =>
    "act" in outcome
      ? `${outcome.act.class} ${"member" in outcome.act.action ? outcome.act.action.member : ""}`
      : `${outcome.hold.reason} ${(outcome.hold.until ?? 0) - world.now}`,
  );
}

const five = healthy({ replicas: 5 });

test("an evicted Pod is made anew at once, the oldest member first", () => {
  assert.deepEqual(says(evicted(evicted(five, "demo-3"), "demo-2", 1)), ["heal demo-2"]);
});

test("one that is evicted again and again is made anew ever more seldom, and that is reported", () => {
  assert.deepEqual(
    [2, 3, 4, 5, 6, 7, 8, 50].map((ends) => says(evicted(five, "demo-2", ends)).join()),
    [10, 20, 40, 80, 160, 300, 300, 300].map((seconds) => `PodBackOff ${seconds * 1000}`),
  );
  assert.deepEqual(says(evicted(five, "demo-2", 3, 20_000)), ["heal demo-2"]);
  const { act, holds } = decide(evicted(five, "demo-2", 4));
  assert.equal(act, undefined);
  const reported = holds.find(({ reason }) => reason === "PodBackOff");
  assert.match(reported?.message ?? "", /demo-2 ended 4 times .* created 40 s after the last one ended/);
});

test("one that waits keeps nobody else's Pod from being made", () => {
  assert.deepEqual(says(evicted(evicted(five, "demo-2", 4), "demo-3")), ["PodBackOff 40000", "heal demo-3"]);
});

test("another template is tried at once", () => {
  const other = record(evicted(five, "demo-2", 4), "demo-2", {});
  const edited = change(other, "demo-2", ({ workload }) => ({
    workload: "startedFrom" in workload ? { ...workload, startedFrom: "other" } : workload,
  }));
  assert.deepEqual(says(edited), []);
  const { act } = decide(edited);
  assert.equal(act?.rule, "restart-outdated");
});

test("a Pod whose data ended with it stays until its member is replaced (H4)", () => {
  const lost = change(evicted(five, "demo-2"), "demo-2", ({ workload }) => ({
    workload: workload.state === "exited" ? { ...workload, cause: "data-missing" as const } : workload,
  }));
  assert.deepEqual(says(lost), []);
});
