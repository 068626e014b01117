/** The oracles that watch over time find what they are for, and are quiet where nobody could have told. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { EtcdCluster } from "../../src/api/etcd-cluster.ts";
import { Violation, type Truth } from "../oracles/oracle.ts";
import { Busy } from "./busy.ts";
import { StatusTruth } from "./status-truth.ts";
import { OperatorSimulation } from "./simulation.ts";

const NOBODY: Truth = { voters: 3, voterIDs: new Set(), voterNames: new Map(), healthy: new Set() };

async function settled(attended: boolean, truth?: Truth): Promise<StatusTruth> {
  const sim = new OperatorSimulation({ replicas: 3, version: "3.6.16" }, { seed: 1 });
  await sim.settle();
  const oracle = { truth: () => truth ?? sim.oracle.truth() };
  return new StatusTruth({ env: sim.env, oracle, attended } as unknown as OperatorSimulation);
}

test("a status that says Quorate while nobody serves may do so for a period", async () => {
  const watch = await settled(true, NOBODY);
  for (const at of [0, 20_000, 40_000]) watch.look(at);
  assert.throws(
    () => watch.look(60_000),
    (error) => error instanceof Violation && error.invariant === "I6" && /says Quorate/.test(error.message),
  );
});

test("a status that says Ready with a version that does not run is a lie at once", async () => {
  const sim = new OperatorSimulation({ replicas: 3, version: "3.6.16" }, { seed: 1 });
  await sim.settle();
  const watch = new StatusTruth(sim);
  watch.look(0);
  const [server] = sim.env.world.network.all();
  assert.ok(server);
  Object.defineProperty(server, "version", { value: "3.5.35" });
  assert.throws(() => watch.look(1), /says Ready for etcd 3\.6\.16, and .* runs 3\.5\.35/);
});

const stays: readonly [status: "True" | "False", down: number, says: RegExp][] = [
  ["True", 1, /says Ready, and 2 of 3 voters serve|says not Degraded/],
  ["False", 0, /says not Ready \(Because\), and neither Reconciling nor Stalled/],
];

for (const [status, down, says] of stays) {
  test(`Ready ${status} with ${down} down and nothing left to do may last for a period`, async () => {
    const sim = new OperatorSimulation({ replicas: 3, version: "3.6.16" }, { seed: 1 });
    await sim.settle();
    const object = sim.env.cluster() as unknown as EtcdCluster;
    const conditions = object.status?.conditions?.map((one) =>
      one.type === "Ready" ? { ...one, status, reason: "Because" } : one,
    );
    const reported = { ...object, status: { ...object.status, conditions } };
    Object.defineProperty(sim.env, "cluster", { value: () => reported });
    const healthy = new Set([...sim.oracle.truth().healthy].slice(down));
    const oracle = { truth: () => ({ ...sim.oracle.truth(), healthy }) };
    const watch = new StatusTruth({ env: sim.env, oracle, attended: true } as unknown as OperatorSimulation);
    for (const at of [0, 40_000]) watch.look(at);
    assert.throws(() => watch.look(60_000), says);
  });
}

test("while no operator can tell, and when it is so, nothing is held against it", async () => {
  for (const watch of [await settled(false, NOBODY), await settled(true)])
    for (const at of [0, 60_000, 120_000]) watch.look(at);
});

test("the same write at full speed is found, and a slow one is not", () => {
  const slow = new Busy();
  for (let at = 0; at < 600_000; at += 2_000) slow.note("PATCH services demo-client", at);
  assert.ok(slow.most <= 31);
  const quick = new Busy();
  assert.throws(() => {
    for (let at = 0; at < 60_000; at += 100) quick.note("PATCH services demo-client", at);
  }, /I7: PATCH services demo-client, 61 times/);
});
