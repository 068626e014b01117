import assert from "node:assert/strict";
import { test } from "node:test";
import { SeededRandom } from "./random.ts";
import { Scheduler, TooManyEvents } from "./scheduler.ts";

function order(seed: number): string {
  const scheduler = new Scheduler(new SeededRandom(seed));
  let seen = "";
  for (const letter of "abcdef") scheduler.after(10, () => (seen += letter));
  scheduler.after(5, () => (seen += "<"));
  scheduler.after(20, () => (seen += ">"));
  scheduler.runUntil(100);
  return seen;
}

test("events run by time, and those of one time in an order that the seed chooses", () => {
  assert.match(order(1), /^<[a-f]{6}>$/);
  assert.equal(order(1), order(1));
  const orders = new Set(Array.from({ length: 50 }, (_, seed) => order(seed)));
  assert.ok(orders.size > 30, `only ${orders.size} orders`);
});

test("a cancelled event does not run, and does not count as the next one", () => {
  const scheduler = new Scheduler(new SeededRandom(1));
  const event = scheduler.after(5, () => assert.fail("ran"));
  scheduler.after(9, () => {});
  event.cancel();
  assert.equal(scheduler.nextAt, 9);
  scheduler.runUntil(50);
  assert.equal(scheduler.now, 50);
  assert.equal(scheduler.ran, 1);
});

test("a thousand events in any order come out by time", () => {
  const random = new SeededRandom(3);
  const scheduler = new Scheduler(random);
  const times: number[] = [];
  for (let i = 0; i < 1000; i++) {
    const at = random.between(0, 500);
    scheduler.at(at, () => times.push(at));
  }
  scheduler.runUntil(1000);
  assert.equal(times.length, 1000);
  assert.deepEqual(
    times,
    times.toSorted((a, b) => a - b),
  );
});

test("time does not move before all promises have come to rest", async () => {
  const scheduler = new Scheduler(new SeededRandom(1));
  const seen: string[] = [];
  scheduler.after(10, () => {
    const chain = async () => {
      for (let i = 0; i < 200; i++) await Promise.resolve();
      seen.push(`chain at ${scheduler.now}`);
    };
    void chain();
  });
  scheduler.after(11, () => seen.push("next event"));
  await scheduler.runAsyncUntil(20);
  assert.deepEqual(seen, ["chain at 10", "next event"]);
});

test("a run without an end is stopped", () => {
  const scheduler = new Scheduler(new SeededRandom(1), { limit: 100 });
  const again = () => void scheduler.after(1, again);
  again();
  assert.throws(() => scheduler.runUntil(1000), TooManyEvents);
});
