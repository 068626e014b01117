/** The pace of rest: whole looks for a few clusters, mostly short ones for many. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { restMs, wholeMs } from "./pace.ts";

const low = { bytes: (length: number) => new Uint8Array(length) };
const high = { bytes: (length: number) => new Uint8Array(length).fill(255) };

test("a few clusters are looked at every five seconds", () => {
  for (const clusters of [0, 1, 50]) {
    assert.equal(restMs(clusters, low), 5_000);
    assert.equal(restMs(clusters, high), 5_000);
  }
});

test("many are looked at in time for the truth to be told within 10 s, and not all at once", () => {
  for (const clusters of [51, 200, 500])
    assert.deepEqual([restMs(clusters, low), restMs(clusters, high)], [5_950, 8_050]);
  assert.deepEqual([restMs(1_000, low), restMs(1_000, high)], [11_900, 16_100]);
});

test("of a few, each look is a whole one; of many, three in a second are, and none waits for ever", () => {
  assert.deepEqual([0, 1, 16].map(wholeMs), [0, 0, 0]);
  assert.deepEqual([50, 200, 10_000].map(wholeMs), [15_000, 60_000, 300_000]);
});
