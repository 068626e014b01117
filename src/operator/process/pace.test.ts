/** The pace of rest: whole looks for a few clusters, mostly short ones for many. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { idleConnections, restMs, wholeMs } from "./pace.ts";

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

test("of a few, each look is a whole one; of many, one in a second is, and none waits for ever", () => {
  for (const clusters of [0, 1, 16]) assert.equal(wholeMs(clusters, high), 0);
  for (const [clusters, ms] of [
    [17, 17_000],
    [50, 50_000],
    [200, 200_000],
    [10_000, 300_000],
  ] as const)
    assert.deepEqual([wholeMs(clusters, low), wholeMs(clusters, high)], [ms / 2, ms * 1.5]);
});

test("connections to every member are kept only while each look is a whole one", () => {
  assert.deepEqual([1, 16, 17, 200].map(idleConnections), [32, 32, 4, 4]);
});
