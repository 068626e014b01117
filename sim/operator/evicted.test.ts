/** Nodes that evict a member's Pod again and again: it is made anew ever more seldom, and returns when they stop. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { pods } from "../models/kube/kinds/pod.ts";
import { NAMESPACE } from "./environment.ts";
import { wrongWith } from "./judge.ts";
import { OperatorSimulation } from "./simulation.ts";

test("a Pod that is evicted as soon as it runs is made anew ever more seldom, and the status says so", async () => {
  const sim = new OperatorSimulation({ replicas: 3, version: "3.6.16" }, { seed: 1 });
  await sim.settle();
  const { env } = sim;
  const made = new Set<string>();
  const evict = () => {
    const pod = env.server.get(pods, `${NAMESPACE}/demo-2`);
    if (pod) made.add(pod.metadata.uid);
    if (env.pods.server("demo-2")?.serving) env.nodes.evict(`${NAMESPACE}/demo-2`);
  };
  sim.harm();
  for (let i = 0; i < 200; i++) {
    evict();
    await sim.pass(500);
  }
  assert.ok(made.size >= 4 && made.size <= 6, `${made.size} Pods in 100 seconds`);
  assert.ok(
    sim.latest?.decision.holds.some(({ reason }) => reason === "PodBackOff"),
    sim.lines.join("\n"),
  );
  await sim.pass(100_000);
  await sim.settle();
  assert.equal(sim.converged, true, sim.whyNot());
  assert.deepEqual(wrongWith(sim), []);
  assert.equal(sim.cluster?.status?.members?.map(({ name }) => name).join(" "), "demo-1 demo-2 demo-3");
});
