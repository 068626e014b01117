import assert from "node:assert/strict";
import { test } from "node:test";
import { recordOf } from "../core/testing/record.ts";
import type { Clock } from "../seams/clock.ts";
import { Liveness } from "./liveness.ts";

/** A clock that stands until it is told. */
function handClock(): Clock & { at: number } {
  const clock = {
    at: 0,
    now: () => clock.at,
    monotonic: () => clock.at,
    timer: () => ({ cancel: () => undefined }),
  };
  return clock;
}

function patient(quotaBackendBytes: string, alive: boolean) {
  const clock = handClock();
  const liveness = new Liveness(clock, {
    alive: () => Promise.resolve(alive),
    versions: () => Promise.reject(new Error("not asked")),
    ready: () => Promise.reject(new Error("not asked")),
    activePeers: () => Promise.reject(new Error("not asked")),
    certificate: () => Promise.resolve(undefined),
    offer: () => Promise.resolve(undefined),
  });
  const record = recordOf("3.6.16", { options: { quotaBackendBytes }, storage: { size: "40Gi" } });
  /** Looks every second until it is given up, or for so long. */
  const silentFor = async (seconds: number): Promise<number | undefined> => {
    for (let second = 0; second <= seconds; second++) {
      if (liveness.isDead(record, 1, false)) return second;
      await Promise.resolve();
      await Promise.resolve();
      clock.at += 1_000;
    }
    return undefined;
  };
  return { clock, liveness, record, silentFor };
}

test("a member may be silent for three defragmentations at full quota, and for a minute and a half at least (H12)", async () => {
  assert.equal(await patient("1Gi", false).silentFor(100), 91);
  assert.equal(await patient("8Gi", false).silentFor(400), 361);
});

test("one that answers a probe lives, whatever it refuses to others", async () => {
  assert.equal(await patient("1Gi", true).silentFor(400), undefined);
});

test("time in which nobody looked does not count, and another process is another patient", () => {
  const { clock, liveness, record } = patient("1Gi", false);
  assert.equal(liveness.isDead(record, 1, true), false);
  clock.at += 300_000;
  assert.equal(liveness.isDead(record, 1, false), false);
  for (let i = 0; i < 20; i++) {
    clock.at += 4_000;
    assert.equal(liveness.isDead(record, 1, false), false);
  }
  clock.at += 4_000;
  assert.equal(liveness.isDead(record, 2, false), false);
});
