/** The oracle of needless removals finds them, and lets those pass that have a cause. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Needless, type Keeping } from "./needless.ts";
import { Violation } from "./oracle.ts";
import { Simulation } from "../rules/simulation.ts";

const LOST_AFTER = 300_000;

function created(): Simulation {
  return new Simulation({ replicas: 3, version: "3.6.16" }, { seed: 1 });
}

function settled(change: Partial<Keeping> = {}) {
  const sim = created();
  sim.settle();
  return judging(sim, change);
}

function judging(sim: Simulation, change: Partial<Keeping> = {}) {
  const { objects, pods } = sim;
  const keeping: Keeping = {
    establishedAs: () => objects.cluster.marks.established?.clusterID,
    meantToServe: () => true,
    server: (member) => pods.server(member),
    data: (member) => objects.read(objects.volumes.get(member)?.path ?? ""),
    votersWanted: () => 3,
    lostAfterMs: () => LOST_AFTER,
    isGivenUp: () => false,
    isLeaving: () => false,
    hasWorkload: () => true,
    ...change,
  };
  return { sim, needless: new Needless(keeping, sim.oracle) };
}

const isNeedless = (why: RegExp) => (error: unknown) =>
  error instanceof Violation && error.invariant === "H16" && why.test(error.message);

test("a voter that serves is not removed, by its record or by its ID", () => {
  const { sim, needless } = settled();
  needless.look(0);
  const id = sim.objects.records.get("demo-2")?.memberID ?? "";
  assert.throws(() => needless.mayLeave("demo-2", 0), isNeedless(/it serves/));
  assert.throws(() => needless.mayRemove(id, 0), isNeedless(/it serves/));
});

test("a voter that is down is removed after its time, and not before", () => {
  const { sim, needless } = settled();
  needless.look(0);
  sim.pods.kill("demo-2");
  needless.look(1_000);
  assert.throws(() => needless.mayLeave("demo-2", 200_000), isNeedless(/down by itself for 200 s/));
  needless.mayLeave("demo-2", LOST_AFTER);
});

test("a founder that never served is down since the beginning, not since the others formed a cluster", () => {
  const sim = created();
  const { needless } = judging(sim);
  needless.look(0);
  sim.settle();
  sim.pods.kill("demo-2");
  needless.look(7_000);
  needless.mayLeave("demo-2", LOST_AFTER);
});

test("the time in which only its workload was missing does not count", () => {
  const { sim, needless } = settled({ hasWorkload: (member) => member !== "demo-2" });
  sim.pods.kill("demo-2");
  for (const at of [0, 100_000, 200_000, 300_000]) needless.look(at);
  assert.throws(() => needless.mayLeave("demo-2", 301_000), isNeedless(/only its workload is missing/));
});

test("what is asked for, one too many, and what has lost its data may go", () => {
  settled({ isGivenUp: () => true }).needless.mayLeave("demo-2", 0);
  settled({ votersWanted: () => 2 }).needless.mayLeave("demo-2", 0);
  const { sim, needless } = settled();
  needless.look(0);
  sim.pods.kill("demo-2");
  sim.objects.loseVolume("demo-2");
  needless.mayLeave("demo-2", 1_000);
});

test("a look that is older than the recovery excuses, a later one does not", () => {
  const { sim, needless } = settled();
  sim.pods.kill("demo-2");
  needless.look(0);
  sim.pass(10_000);
  needless.look(400_000);
  needless.mayLeave("demo-2", 399_000);
  assert.throws(() => needless.mayLeave("demo-2", 401_000), isNeedless(/it serves/));
});
