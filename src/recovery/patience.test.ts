import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../etcd/testing.ts";
import { servesWithinMs, untilServing } from "./patience.ts";
import { RescueError } from "./rescue-error.ts";

const MINUTE = 60_000;
const GIB = 2 ** 30;
const never = new AbortController().signal;
const starting = () => Promise.reject(new Error("timeout"));
const refused = () =>
  Promise.reject(
    new Error("UNAVAILABLE", { cause: Object.assign(new Error("connect"), { code: "ECONNREFUSED" }) }),
  );

/** Asks until it ends, and returns after how many minutes that was, and why. */
async function waiting(
  bytes: number,
  answer: (minutes: number) => Promise<boolean>,
): Promise<{ minutes: number; why: string | undefined }> {
  const clock = new ManualClock();
  const began = clock.monotonic();
  const minutes = () => (clock.monotonic() - began) / MINUTE;
  let ended: { why: string | undefined } | undefined;
  const done = untilServing({ bytes, serves: () => answer(minutes()), clock, signal: never }).then(
    () => (ended = { why: undefined }),
    (error: unknown) => {
      assert.ok(error instanceof RescueError);
      ended = { why: error.message };
    },
  );
  while (ended === undefined) {
    await clock.advance(MINUTE / 2);
    assert.ok(minutes() < 10_000, "it never ends");
  }
  await done;
  return { minutes: minutes(), ...ended };
}

test("an etcd that needs eleven minutes, or an hour, to start from a copy of 8 GiB is waited for", async () => {
  for (const needed of [11, 60, 140]) {
    const serves = (at: number) => (at < needed ? starting() : Promise.resolve(true));
    const { why, minutes } = await waiting(8 * GIB, serves);
    assert.equal(why, undefined);
    assert.ok(minutes >= needed && minutes < needed + 1, `${minutes}`);
  }
});

test("one that hangs is given up after the time that its data may take, which every database has", async () => {
  assert.equal(servesWithinMs(0), 10 * MINUTE);
  const { why, minutes } = await waiting(GIB, starting);
  assert.match(why ?? "", /did not serve from the copy within 28 minutes/);
  assert.ok(minutes >= 27.8 && minutes <= 29, `${minutes}`);
});

test("where nothing listens for ten minutes there is no etcd, however large its data is", async () => {
  const { why, minutes } = await waiting(8 * GIB, refused);
  assert.match(why ?? "", /no etcd has run on the copy for 10 minutes/);
  assert.ok(minutes >= 10 && minutes <= 11, `${minutes}`);
  const late = await waiting(8 * GIB, (at) =>
    at < 9 ? refused() : at < 30 ? starting() : Promise.resolve(true),
  );
  assert.equal(late.why, undefined);
});
