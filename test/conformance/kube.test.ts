/**
 * The model API server of the simulator against a real one: the same random calls, the same answers. The long run
 * is `npm run sim:conformance`.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { conform } from "../../sim/models/kube/conformance/run.ts";
import { conformanceGround, TOLERATION_SECONDS, type Ground } from "./kube-ground.ts";

let ground: Ground;

before(async () => {
  ground = await conformanceGround();
});

after(async () => {
  await ground?.down();
});

test("the model API server answers random calls as a real one does, and its watches tell the same", async (t) => {
  const found: string[] = [];
  const report = await conform({
    real: ground.transport,
    seed: 7,
    calls: 600,
    tolerationSeconds: TOLERATION_SECONDS,
    now: () => Date.now(),
    deadline: (ms) => AbortSignal.timeout(ms),
    onDifference: (text) => found.push(text),
  });
  assert.deepEqual(found, []);
  assert.ok(report.watches > 5 && report.calls - report.refused > 150, JSON.stringify(report));
  t.diagnostic(`${report.calls} calls, ${report.watches} of them watches`);
});
