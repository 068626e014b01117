/** The oracles that watch over time find what they are for, and are quiet where nobody could have told. */
import assert from "node:assert/strict";
import { test } from "node:test";
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
