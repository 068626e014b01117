/** The comparison itself: the model agrees with another model under other chances, and a planted fault is found. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { EPOCH } from "../../../engine/clock.ts";
import { SeededRandom } from "../../../engine/random.ts";
import type { Call, Outcome } from "./calls.ts";
import { ModelSide } from "./model-side.ts";
import type { EtcdReport } from "./options.ts";
import { conformEtcd } from "./run.ts";
import type { Slot } from "./side.ts";

const slots = ["m1", "m2", "m3", "m4", "m5", "m6"].map((name, i) => ({
  name,
  clientUrl: `http://127.0.0.1:${2379 + 10 * i}`,
  peerUrl: `http://127.0.0.1:${2380 + 10 * i}`,
}));

/** Answers one call in a way that etcd does not. */
class Faulty extends ModelSide {
  override async call(slot: Slot, call: Call, timeoutMs: number): Promise<Outcome> {
    const answer = await super.call(slot, call, timeoutMs);
    if (call.kind !== "promote" || answer.ok) return answer;
    return { ...answer, error: "learner-not-ready" };
  }
}

async function against(other: ModelSide, seed: number, calls: number): Promise<[EtcdReport, string[]]> {
  const found: string[] = [];
  const report = await conformEtcd({
    real: other,
    slots,
    version: "3.6.16",
    seed,
    calls,
    callsPerDisaster: 100,
    now: () => (other.wallMs = EPOCH + other.scheduler.now),
    wait: (ms) => other.pass(ms),
    onDifference: (text) => found.push(text),
  });
  return [report, found];
}

test("two models under other chances agree in random calls and lives", async () => {
  const [report, found] = await against(new ModelSide(new SeededRandom(99)), 1, 2_000);
  assert.deepEqual(found, []);
  assert.ok(report.disasters > 6, JSON.stringify(report));
  assert.ok(report.lives > 20 && report.calls - report.refused > 1_000, JSON.stringify(report));
});

test("a model that answers otherwise is found, with what was done before", async () => {
  const [, found] = await against(new Faulty(new SeededRandom(99)), 2, 600);
  assert.match(found[0] ?? "", /"promote".*\n {2}real:.*\n {2}model:/);
});
