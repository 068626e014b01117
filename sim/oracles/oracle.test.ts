/** The oracles find what they are for: each test does, by hand, what an operator must never do. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Action } from "../../src/core/action.ts";
import { inflict } from "../rules/faults.ts";
import { Violation } from "./oracle.ts";
import { mustStayQuiet } from "./quiet.ts";
import { Simulation } from "../rules/simulation.ts";

function settled(replicas = 3): Simulation {
  const sim = new Simulation({ replicas, version: "3.6.16" }, { seed: 1 });
  sim.settle();
  return sim;
}

const violates = (invariant: string, act: () => unknown) =>
  assert.throws(act, (error) => error instanceof Violation && error.invariant === invariant, invariant);

test("I1: stopping or removing a healthy voter while another is down", () => {
  const sim = settled();
  sim.pods.kill("demo-1");
  const id = sim.objects.records.get("demo-2")?.memberID ?? "";
  violates("I1", () => sim.oracle.beforeStep({ kind: "StopWorkload", member: "demo-2" }));
  violates("I1", () => sim.oracle.beforeStep({ kind: "RemoveFromEtcd", member: "demo-2", memberID: id }));
});

test("R10: moving leadership to a member that is down, hangs, or does not exist", () => {
  const sim = settled();
  const move = (member: string): Action => ({
    kind: "MoveLeader",
    member,
    memberID: sim.objects.records.get(member)?.memberID ?? "9",
  });
  sim.oracle.beforeStep(move("demo-2"));
  inflict(sim, "freeze", "demo-2");
  violates("R10", () => sim.oracle.beforeStep(move("demo-2")));
  sim.pods.kill("demo-3");
  violates("R10", () => sim.oracle.beforeStep(move("demo-3")));
  violates("R10", () => sim.oracle.beforeStep(move("demo-9")));
});

test("I2: promoting while a voter is down", () => {
  const sim = settled();
  sim.pods.kill("demo-1");
  const promote: Action = { kind: "Promote", member: "demo-9", memberID: "9" };
  violates("I2", () => sim.oracle.beforeStep(promote));
});

test("I3: starting a new cluster although one was seen to exist", () => {
  const sim = settled();
  violates("I3", () => sim.oracle.started('{"initial-cluster-state":"new"}', false));
  sim.oracle.started('{"initial-cluster-state":"new"}', true);
});

test("I4: a member that comes back without its data", () => {
  const sim = settled();
  const volume = sim.objects.volumes.get("demo-1");
  assert.ok(volume);
  const dir = sim.objects.read(volume.path);
  assert.ok(dir);
  violates("I4", () => sim.oracle.madeDirectory(dir));
  // One that has never heard a leader has nothing to forget.
  const [first] = dir.log;
  assert.ok(first);
  dir.log.length = 0;
  dir.log.push(first);
  sim.oracle.madeDirectory(dir);
});

test("I5: deleting the volume of a current member", () => {
  const sim = settled();
  violates("I5", () => sim.oracle.beforeStep({ kind: "DeleteVolume", member: "demo-1", volumeUID: "any" }));
});

test("I7: a write after everything is as it should be", () => {
  const sim = settled();
  mustStayQuiet(sim, 60_000);
  sim.scheduler.after(10, () => sim.objects.mark({}));
  violates("I7", () => mustStayQuiet(sim, 60_000));
});

test("I10: a leader without what was acknowledged", () => {
  const sim = settled();
  sim.pass(5_000);
  // Two of three lose their memory behind everybody's back and elect a leader: what the start guard is against.
  const leader = sim.world.network.all().find((server) => sim.world.raftOf(server).leader === server);
  assert.ok(leader);
  for (const server of sim.world.network.all()) if (server !== leader) server.dir.log.length = 3;
  violates("I10", () => {
    inflict(sim, "lose-volume", leader.config.name);
    sim.pass(10_000);
  });
});

test("not to come to rest is a violation of its own", () => {
  const sim = settled();
  inflict(sim, "freeze", "demo-1");
  inflict(sim, "freeze", "demo-2");
  violates("convergence", () => sim.settle(120_000));
});
