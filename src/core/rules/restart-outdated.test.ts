import assert from "node:assert/strict";
import { test } from "node:test";
import { decide } from "../decide.ts";
import type { Observation } from "../observation.ts";
import { change, exited, healthy, leaderOf } from "../testing/cluster.ts";

function outdated(observation: Observation, name: string): Observation {
  return change(observation, name, ({ workload }) => ({
    workload: workload.state === "running" ? { ...workload, startedFrom: "something else" } : workload,
  }));
}

test("a follower restarts when the others keep quorum", () => {
  const { act } = decide(outdated(healthy(), "demo-3"));
  assert.equal(act?.action.kind === "StopWorkload" && act.action.member, "demo-3");
});

test("the leader hands over first (R10)", () => {
  const world = healthy();
  const { act } = decide(outdated(world, leaderOf(world)));
  assert.equal(act?.action.kind, "MoveLeader");
});

test("a healthy voter does not restart while another is down (I1)", () => {
  const { act, holds } = decide(exited(outdated(healthy(), "demo-3"), "demo-2"));
  assert.equal(act, undefined);
  assert.ok(holds.some((hold) => hold.message.includes("demo-3 restarts once")));
});

test("one that is down anyway restarts at once", () => {
  const world = change(outdated(healthy(), "demo-3"), "demo-3", {
    answer: { reachable: false, error: "hangs" },
  });
  assert.equal(decide(world).act?.action.kind, "StopWorkload");
});

test("a latch is no reason to restart", () => {
  assert.ok(decide(healthy()).converged);
});
