import assert from "node:assert/strict";
import { test } from "node:test";
import { backoffMs, doubledMs } from "./backoff.ts";

const BACKOFF = { firstMs: 200, longestMs: 10_000 };

test("waits double with each failure, up to the longest, however many there were", () => {
  const waits = [1, 2, 3, 6, 7, 1_000].map((failures) => doubledMs(failures, BACKOFF));
  assert.deepEqual(waits, [200, 400, 800, 6_400, 10_000, 10_000]);
  assert.equal(doubledMs(0, BACKOFF), 200);
});

test("chance takes at most half of a wait away", () => {
  const waits = [0, 255].map((byte) => backoffMs(2, BACKOFF, { bytes: (n) => new Uint8Array(n).fill(byte) }));
  assert.deepEqual(waits, [200, 400]);
});
