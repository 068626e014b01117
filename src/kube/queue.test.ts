import assert from "node:assert/strict";
import { test } from "node:test";
import { WorkQueue, type Outcome, type QueueOptions } from "./queue.ts";
import { ManualClock, noRandom, settle } from "./testing.ts";

interface Run {
  readonly key: string;
  readonly at: number;
  readonly end: (outcome?: Outcome) => void;
  readonly fail: (error: Error) => void;
  readonly signal: AbortSignal;
}

function made(options: Partial<QueueOptions> = {}) {
  const clock = new ManualClock();
  const runs: Run[] = [];
  const queue = new WorkQueue({
    clock,
    random: noRandom,
    work: (key, signal) =>
      new Promise((resolve, reject) =>
        runs.push({ key, at: clock.monotonic(), end: resolve, fail: reject, signal }),
      ),
    onFailure: () => undefined,
    ...options,
  });
  queue.start();
  const keys = () => runs.map(({ key }) => key);
  return { clock, queue, runs, keys };
}

test("a key runs at one place at a time, and once more for all that came meanwhile", async () => {
  const { queue, runs, keys } = made();
  for (let i = 0; i < 5; i++) queue.add("a");
  assert.deepEqual(keys(), ["a"]);
  for (let i = 0; i < 5; i++) queue.add("a");
  runs[0]?.end();
  await settle();
  assert.deepEqual(keys(), ["a", "a"]);
  runs[1]?.end();
  await settle();
  assert.equal(queue.size, 0);
});

test("many keys run at once, up to the limit, in the order they came", async () => {
  const { queue, runs, keys } = made({ concurrency: 2 });
  for (const key of ["a", "b", "c", "d"]) queue.add(key);
  assert.deepEqual(keys(), ["a", "b"]);
  assert.equal(queue.depth, 2);
  runs[1]?.end();
  await settle();
  assert.deepEqual(keys(), ["a", "b", "c"]);
});

test("a key that always wants to run again does not starve the others", async () => {
  const { queue, runs, keys } = made({ concurrency: 1 });
  queue.add("busy");
  for (const key of ["a", "b", "c"]) queue.add(key);
  for (let i = 0; i < 6; i++) {
    queue.add("busy");
    runs.at(-1)?.end();
    await settle();
  }
  assert.deepEqual(keys(), ["busy", "a", "b", "c", "busy", "busy", "busy"]);
});

test("a key that hangs keeps one place and no more", async () => {
  const { clock, queue, runs, keys } = made({ concurrency: 2 });
  queue.add("stuck");
  for (let i = 0; i < 10; i++) {
    queue.add("stuck");
    queue.add(`k${i}`);
    runs.at(-1)?.end();
    await settle();
  }
  assert.equal(keys().length, 11);
  clock.freeze(5_000);
  assert.equal(queue.longestRunMs, 5_000);
});

test("a wish for later is kept, the sooner of two counts, and an event overtakes both", async () => {
  const { clock, queue, runs } = made();
  queue.addAfter("a", 5_000);
  queue.addAfter("a", 1_000);
  queue.addAfter("a", 3_000);
  await clock.advance(999);
  assert.equal(runs.length, 0);
  await clock.advance(1);
  assert.equal(runs.length, 1);
  runs[0]?.end({ againMs: 60_000 });
  await settle();
  queue.add("a");
  assert.equal(runs.length, 2);
  runs[1]?.end();
  await clock.advance(120_000);
  assert.equal(runs.length, 2, "what was due was done by then");
});

test("a failing key waits longer each time, alone, and starts afresh after a success", async () => {
  const { clock, queue, runs } = made({ backoff: { firstMs: 200, longestMs: 1_000 } });
  queue.add("bad");
  const waits: number[] = [];
  for (let i = 0; i < 5; i++) {
    const last = runs.at(-1);
    last?.fail(new Error("no"));
    while (runs.at(-1) === last) await clock.advance(10);
    waits.push((runs.at(-1)?.at ?? 0) - (last?.at ?? 0));
  }
  assert.deepEqual(waits, [100, 200, 400, 500, 500]);
  queue.add("good");
  assert.equal(runs.at(-1)?.key, "good");
  runs.at(-2)?.end();
  await settle();
  queue.add("bad");
  assert.equal(runs.at(-1)?.key, "bad");
  runs.at(-1)?.fail(new Error("no"));
  await clock.advance(110);
  assert.equal(runs.filter(({ key }) => key === "bad").length, 8);
});

test("an event shortens a back-off, but not to nothing", async () => {
  const { clock, queue, runs } = made({ backoff: { firstMs: 200, longestMs: 60_000 } });
  queue.add("a");
  for (let i = 0; i < 8; i++) {
    const last = runs.at(-1);
    last?.fail(new Error("no"));
    for (let waited = 0; runs.at(-1) === last && waited < 60_000; waited += 100) await clock.advance(100);
  }
  const before = runs.length;
  runs.at(-1)?.fail(new Error("no"));
  await settle();
  queue.add("a");
  await clock.advance(199);
  assert.equal(runs.length, before);
  await clock.advance(1);
  assert.equal(runs.length, before + 1);
});

test("a failure may ask for a longer wait", async () => {
  const { clock, queue, runs } = made({ onFailure: () => 7_000 });
  queue.add("a");
  runs[0]?.fail(new Error("429"));
  await clock.advance(6_999);
  assert.equal(runs.length, 1);
  await clock.advance(1);
  assert.equal(runs.length, 2);
});

test("the queue is bounded, and says when what it refused can be offered again", async () => {
  let room = 0;
  const { queue, runs } = made({ mostKeys: 4, concurrency: 1, onRoom: () => room++ });
  assert.deepEqual(
    ["a", "b", "c", "d", "e"].map((key) => queue.add(key)),
    [true, true, true, true, false],
  );
  assert.equal(queue.add("a"), true, "a key that is in it already always has room");
  for (let i = 0; i < 4; i++) {
    runs.at(-1)?.end();
    await settle();
  }
  assert.equal(room, 1);
});

test("stopping starts nothing more, waits for what runs, and in the end tells it to stop", async () => {
  const { clock, queue, runs } = made({ concurrency: 1 });
  queue.add("a");
  queue.add("b");
  queue.addAfter("c", 100);
  let stopped = false;
  const stopping = queue.stop(5_000).then(() => (stopped = true));
  await clock.advance(4_000);
  assert.equal(runs[0]?.signal.aborted, false);
  await clock.advance(2_000);
  assert.equal(runs[0]?.signal.aborted, true);
  assert.equal(stopped, false);
  runs[0]?.fail(new Error("aborted"));
  await stopping;
  assert.equal(runs.length, 1);
  assert.equal(queue.add("d"), false);
  assert.equal(clock.timers, 0);
});

test("the wait of the first in line is reported, counted from when it could have begun", async () => {
  const clock = new ManualClock();
  const ends: (() => void)[] = [];
  const queue = new WorkQueue({
    clock,
    random: noRandom,
    concurrency: 1,
    work: () => new Promise<void>((resolve) => ends.push(resolve)),
    onFailure: () => undefined,
  });
  queue.add("a");
  queue.add("b");
  await clock.advance(5_000);
  assert.equal(queue.longestWaitMs, 0);
  queue.start();
  await clock.advance(1_000);
  queue.add("c");
  await clock.advance(1_000);
  assert.equal(queue.longestWaitMs, 2_000);
  ends[0]?.();
  await settle();
  assert.equal(queue.longestWaitMs, 1_000);
  ends[1]?.();
  await settle();
  assert.equal(queue.longestWaitMs, 0);
});
