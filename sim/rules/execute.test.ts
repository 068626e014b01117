/**
 * Users are left out of this model: what they take (logins, passwords, refusals) is a client's dialogue with etcd, which
 * the machine and the operator hold on the same etcd model (`sim/operator/auth.test.ts`). A platform that knows nothing
 * of users gives no facts about them, and the rules then ask for nothing.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Simulation } from "./simulation.ts";

test("a spec with auth settles here without a step that this model could not take", () => {
  const sim = new Simulation(
    { replicas: 3, version: "3.6.16", auth: { enabled: true, clientRoles: [] } },
    { seed: 1 },
  );
  sim.settle();
  assert.ok(sim.converged);
});
