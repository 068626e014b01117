/** Who takes over from a leader. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Observation } from "../observation.ts";
import { change, exited, healthy, leaderOf, record } from "../testing/cluster.ts";
import { viewOf } from "../view.ts";
import { successor } from "./successor.ts";

const five = healthy({ replicas: 5 });

const lagging = (o: Observation, name: string, behind: number) =>
  change(o, name, ({ answer }) => ({
    answer: answer.reachable ? { ...answer, raftAppliedIndex: answer.raftIndex - behind } : answer,
  }));

const started = (o: Observation, name: string, startedFrom: string) =>
  change(o, name, ({ workload }) => ({
    workload: workload.state === "running" ? { ...workload, startedFrom } : workload,
  }));

function nextLeader(o: Observation, prefer?: (name: string) => boolean): string | undefined {
  const view = viewOf(o);
  assert.ok(view.leader);
  return successor(view, view.leader, prefer && (({ name }) => prefer(name)))?.name;
}
const retiring = { reason: "it is old" };
const leaving = { reason: "it goes", volume: "Retain" } as const;

test("the next leader is whom the caller prefers, then who runs what its record says, then who lags least", () => {
  assert.equal(leaderOf(five), "demo-1");
  assert.equal(nextLeader(five), "demo-2");
  assert.equal(nextLeader(lagging(five, "demo-2", 5)), "demo-3");
  const old = started(started(five, "demo-2", "old"), "demo-3", "old");
  assert.equal(nextLeader(old), "demo-4");
  assert.equal(nextLeader(lagging(lagging(old, "demo-4", 9), "demo-5", 3)), "demo-5");
  assert.equal(
    nextLeader(lagging(old, "demo-3", 9), (name) => name === "demo-3"),
    "demo-3",
  );
  assert.equal(
    nextLeader(five, (name) => name !== "demo-2"),
    "demo-3",
  );
});

test("nobody inherits who is ill, retires, leaves or is a learner", () => {
  const ill = exited(five, "demo-2");
  const old = record(ill, "demo-3", { retiring });
  const off = record(old, "demo-4", { leaving });
  assert.equal(nextLeader(off), "demo-5");
  assert.equal(nextLeader(exited(off, "demo-5")), undefined);
});
