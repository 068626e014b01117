/** A person fences a member of a cluster at rest: the operator acts at once, and not at its next look. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { EtcdClusterStatus } from "../../src/api/etcd-cluster-status.ts";
import { json } from "../models/kube/object.ts";
import { Moves } from "./moves.ts";
import { OperatorSimulation } from "./simulation.ts";

for (const leastClusters of [0, 200]) {
  test(`a fence is applied and told within a second (${leastClusters || "few"} clusters)`, async () => {
    const sim = new OperatorSimulation({ replicas: 3, version: "3.6.16" }, { seed: 3, leastClusters });
    await sim.settle();
    await sim.pass(60_000);
    const deeds = new Moves(sim);
    const told = () => {
      const { status } = json(sim.env.cluster()) as { status?: EtcdClusterStatus };
      return status?.members?.filter(({ fenced }) => fenced).length ?? 0;
    };
    deeds.perform({ do: "fence", pick: 0, on: true });
    await sim.pass(1_000);
    assert.equal(told(), 1, "fenced");
    deeds.perform({ do: "fence", pick: 0, on: false });
    await sim.pass(1_000);
    assert.equal(told(), 0, "unfenced");
  });
}
