/**
 * An operator whose clock is ten minutes ahead, then ten behind, on a real API server with real etcd and real
 * certificates: newcomers join and rollouts take their ordinary time, and the status tells of the clock.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { systemClock, type Clock } from "../../src/seams/clock.ts";
import { eventually } from "../../testbed/eventually.ts";
import type { TestTestbed } from "../../testbed/for-tests.ts";
import {
  ClusterOnBed,
  PATIENCE_MS,
  startOperator,
  upWithDefinitions,
  type Running,
} from "../support/operator.ts";

const TEN_MINUTES = 600_000;
/** Far less than what the clock is off by, whatever the machine has to do besides. */
const ORDINARY_MS = 240_000;

let bed: TestTestbed;
let running: Running;
let cluster: ClusterOnBed;
let aheadMs = TEN_MINUTES;
const clock: Clock = {
  now: () => systemClock.now() + aheadMs,
  monotonic: () => systemClock.monotonic(),
  timer: (...wait) => systemClock.timer(...wait),
};

before(async () => {
  bed = await upWithDefinitions();
  running = startOperator(bed, { clock });
  cluster = new ClusterOnBed(bed, "demo", running);
});

after(async () => {
  await cluster?.close();
  await running?.stop();
  await bed?.down();
});

async function tellsOfItsClock(direction: "ahead of" | "behind"): Promise<void> {
  await eventually(
    "the status tells of the clock",
    async () => {
      const { warnings = [] } = await cluster.status();
      return warnings.some((one) => one.includes(`operator's clock is more than 5 min ${direction}`));
    },
    { withinMs: PATIENCE_MS },
  );
}

/** Every member is another process afterwards. */
async function rollsOut(snapshotCount: number): Promise<void> {
  const uids = async () => (await cluster.pods()).map(({ metadata }) => metadata?.uid);
  const before = await uids();
  await cluster.edit({ options: { snapshotCount } });
  await cluster.converged(2);
  const after = new Set(await uids());
  assert.ok(!before.some((uid) => after.has(uid)));
}

test("ten minutes ahead: a cluster begins, a newcomer joins with a certificate issued by that clock, and it is rolled out", async () => {
  const began = systemClock.monotonic();
  await cluster.create({ replicas: 1, tls: { mode: "Managed" } });
  await cluster.converged(1);
  await cluster.edit({ replicas: 2 });
  await cluster.converged(2);
  await rollsOut(20_000);
  await tellsOfItsClock("ahead of");
  const took = systemClock.monotonic() - began;
  assert.ok(took < ORDINARY_MS, `it took ${took} ms`);
  await cluster.assertSound(2);
});

test("set back to ten minutes behind while a rollout is under way, which goes on, as does the next one", async () => {
  const began = systemClock.monotonic();
  const from = running.steps.length;
  await cluster.edit({ options: { snapshotCount: 30_000 } });
  await eventually(
    "the rollout began",
    () => Promise.resolve(running.steps.slice(from).some((step) => step.startsWith("UpdateMember/roll"))),
    { withinMs: PATIENCE_MS, everyMs: 20 },
  );
  aheadMs = -TEN_MINUTES;
  await cluster.converged(2);
  await rollsOut(40_000);
  await tellsOfItsClock("behind");
  const took = systemClock.monotonic() - began;
  assert.ok(took < ORDINARY_MS, `it took ${took} ms`);
  const ids = (await cluster.members()).map(({ metadata }) => metadata.name);
  assert.deepEqual(ids, ["demo-1", "demo-2"], "nobody was replaced");
  await cluster.assertSound(2);
});
