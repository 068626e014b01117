/** R19 in the simulated operator: members that count a connected peer as lost do not keep the cluster from growing. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { wrongWith } from "./judge.ts";
import { OperatorSimulation } from "./simulation.ts";

test("while one voter counts a connected peer as lost, others join and leave by the word of the rest", async () => {
  for (const doubting of [0, 1, 2]) {
    const sim = new OperatorSimulation({ replicas: 3, version: "3.6.16" }, { seed: 1 });
    await sim.settle();
    const servers = sim.env.world.network.all();
    servers[doubting]!.doubt(servers[(doubting + 1) % 3]!);
    for (const replicas of [5, 3]) {
      sim.edit({ replicas });
      await sim.settle();
      assert.equal(sim.converged, true, sim.whyNot());
      assert.deepEqual(wrongWith(sim), []);
    }
  }
});
