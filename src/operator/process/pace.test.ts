/** The pace of rest: constant for a few clusters, so many a second for many. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { restMs } from "./pace.ts";

const low = { bytes: (length: number) => new Uint8Array(length) };
const high = { bytes: (length: number) => new Uint8Array(length).fill(255) };

test("a few clusters are looked at every five seconds", () => {
  for (const clusters of [0, 1, 50]) {
    assert.equal(restMs(clusters, low), 5_000);
    assert.equal(restMs(clusters, high), 5_000);
  }
});

test("of many, ten are looked at in a second, spread over a time, and none waits for ever", () => {
  assert.deepEqual([restMs(200, low), restMs(200, high)], [15_000, 25_000]);
  assert.deepEqual([restMs(10_000, low), restMs(10_000, high)], [45_000, 75_000]);
});
