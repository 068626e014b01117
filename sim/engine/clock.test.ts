import assert from "node:assert/strict";
import { test } from "node:test";
import { deadline, DeadlineExceeded, sleep } from "../../src/seams/clock.ts";
import { EPOCH, VirtualClock } from "./clock.ts";
import { SeededRandom } from "./random.ts";
import { Scheduler } from "./scheduler.ts";

function virtual() {
  const scheduler = new Scheduler(new SeededRandom(1));
  return { scheduler, clock: new VirtualClock(scheduler) };
}

test("time stands still until the scheduler moves it", () => {
  const { scheduler, clock } = virtual();
  assert.equal(clock.now(), EPOCH);
  scheduler.runUntil(1500);
  assert.equal(clock.now(), EPOCH + 1500);
  assert.equal(clock.monotonic(), 1500);
});

test("a jump moves the wall clock and nothing else", () => {
  const { scheduler, clock } = virtual();
  let fired = 0;
  clock.timer(100, () => (fired = scheduler.now));
  clock.jump(-3_600_000);
  scheduler.runUntil(200);
  assert.equal(fired, 100);
  assert.equal(clock.now(), EPOCH + 200 - 3_600_000);
});

test("sleep and deadlines of the product run on virtual time", async () => {
  const { scheduler, clock } = virtual();
  const slept = sleep(clock, 60_000).then(() => scheduler.now);
  const limit = deadline(clock, 5_000);
  await scheduler.runAsyncUntil(120_000);
  assert.equal(await slept, 60_000);
  assert.ok(limit.signal.reason instanceof DeadlineExceeded);
});
