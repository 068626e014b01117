import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../etcd/testing.ts";
import { Waker } from "./waker.ts";

const forever = new AbortController().signal;

test("a wait ends when its time is over, and leaves no timer behind when it is woken or aborted", async () => {
  const clock = new ManualClock();
  const waker = new Waker(clock);
  const timed = waker.wait(100, forever);
  await clock.advance(100);
  await timed;
  const woken = waker.wait(100, forever);
  waker.wake();
  await woken;
  const stop = new AbortController();
  const aborted = waker.wait(100, stop.signal);
  stop.abort();
  await aborted;
  assert.equal(clock.pending, 0);
});

test("a wake that comes while work is done is kept for the next wait, and counts once", async () => {
  const clock = new ManualClock();
  const waker = new Waker(clock);
  waker.wake();
  waker.wake();
  await waker.wait(1000, forever);
  let ended = false;
  const second = waker.wait(1000, forever).then(() => (ended = true));
  await clock.advance(999);
  assert.equal(ended, false);
  await clock.advance(1);
  await second;
});
