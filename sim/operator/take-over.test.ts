/** A new leader whose caches lack what the leader before it wrote. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { leases } from "../models/kube/kinds/simple.ts";
import { json } from "../models/kube/object.ts";
import { SYSTEM } from "./environment.ts";
import { wrongWith } from "./judge.ts";
import { OperatorSimulation } from "./simulation.ts";

const holderOf = ({ env }: OperatorSimulation) =>
  String(json(env.server.get(leases, `${SYSTEM}/quorate`)?.["spec"])["holderIdentity"]);

test("it does nothing before it has seen the records that its predecessor made", async () => {
  const sim = new OperatorSimulation({ replicas: 3, version: "3.6.16" }, { seed: 1, operators: 2 });
  await sim.settle();
  const { front } = sim.env;
  // From now on nobody is reported records; the leader knows those that it writes itself.
  front.hold("etcdmembers", "watches");
  sim.edit({ replicas: 4 });
  const added = () => sim.lines.some((line) => line.includes("AddLearner demo-4"));
  for (let i = 0; i < 200 && !added(); i++) await sim.pass(50);
  assert.ok(added(), sim.lines.join("\n"));
  const former = holderOf(sim);
  sim.seats.find(({ name }) => name === former)?.life.cut("killed");
  const { steps } = sim;
  const mark = sim.lines.length;
  for (let i = 0; i < 600 && holderOf(sim) === former; i++) await sim.pass(100);
  assert.notEqual(holderOf(sim), former, "another leads");
  const { passes } = sim;
  await sim.pass(20_000);
  assert.equal(sim.passes, passes, "it does not even look: what it saw would be the past");
  assert.equal(sim.steps, steps, sim.lines.slice(mark).join("\n"));
  front.release("etcdmembers");
  await sim.settle();
  const since = sim.lines.slice(mark);
  assert.ok(!since.some((line) => line.includes("RemoveFromEtcd")), since.join("\n"));
  assert.deepEqual(wrongWith(sim), []);
});

test("a cache that is up to date but quiet keeps nobody waiting", async () => {
  const sim = new OperatorSimulation({ replicas: 3, version: "3.6.16" }, { seed: 2, operators: 2 });
  await sim.settle();
  const former = holderOf(sim);
  sim.seats.find(({ name }) => name === former)?.life.cut("killed");
  const { passes } = sim;
  for (let i = 0; i < 600 && holderOf(sim) === former; i++) await sim.pass(50);
  await sim.pass(500);
  assert.ok(sim.passes > passes, "it looks at the cluster at once");
});

test("one for a single namespace that begins while the API server hangs still learns that it may not read Nodes", async () => {
  const sim = new OperatorSimulation(
    { replicas: 3, version: "3.6.16" },
    { seed: 3, operators: 1, nodesForbidden: true },
  );
  await sim.settle();
  const { front } = sim.env;
  sim.impediments++;
  sim.seats[0]?.life.cut("killed");
  front.freeze();
  // Its questions of the start stay without an answer, and time out.
  await sim.pass(8_000);
  front.thaw();
  await sim.pass(60_000);
  sim.impediments--;
  sim.edit({ replicas: 5 });
  await sim.settle();
  assert.deepEqual(wrongWith(sim), []);
});
