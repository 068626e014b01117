import assert from "node:assert/strict";
import { test } from "node:test";
import { answering, healthy, NOW } from "../testing/cluster.ts";
import { viewOf } from "../view.ts";
import { growthOf, quotaFullAt, type SizeSample } from "./growth.ts";

const MIN = 60_000;
const HOUR = 60 * MIN;
const DAY = 24 * HOUR;
const GI = 2 ** 30;

const line = (count: number, size: (i: number) => number): SizeSample[] =>
  Array.from({ length: count }, (_, i) => ({ at: i * 5 * MIN, bytes: size(i) }));

test("a rate is bytes per second, also through the fall of a compaction", () => {
  assert.equal(growthOf(line(10, (i) => i * 300 * 1_000)), 1_000);
  const sawtooth = growthOf(line(48, (i) => i * 300_000 + (i % 12) * 10_000_000)) ?? 0;
  assert.ok(sawtooth > 800 && sawtooth < 5_000, String(sawtooth));
  assert.ok((growthOf(line(10, (i) => 1e9 - i)) ?? 0) < 0);
});

test("too little says nothing", () => {
  assert.equal(growthOf([]), undefined);
  assert.equal(growthOf(line(3, (i) => i)), undefined);
  assert.equal(growthOf(line(5, (i) => i).map((sample) => ({ ...sample, at: sample.at / 10 }))), undefined);
});

/** A cluster with a quota of 2 GiB, of which half is used. */
function growing(bytesPerSecond: number | undefined, now = NOW) {
  const world = healthy({ options: { quotaBackendBytes: "2Gi" } });
  const half = ["demo-1", "demo-2", "demo-3"].reduce(
    (seen, name) => answering(seen, name, { dbSize: GI, dbSizeInUse: GI }),
    world,
  );
  const etcd = { ...half.etcd, ...(bytesPerSecond !== undefined && { bytesPerSecond }) };
  return viewOf({ ...half, now, etcd });
}

test("the quota is full when the rest of it is used at this rate", () => {
  const at = quotaFullAt(growing(GI / (10 * 3_600)), undefined) ?? 0;
  assert.ok(Math.abs(at - (NOW + 10 * HOUR)) <= 10 * MIN);
});

test("what does not grow, or grows so slowly that nobody cares, is not told", () => {
  assert.equal(quotaFullAt(growing(-5), undefined), undefined);
  assert.equal(quotaFullAt(growing(0), NOW + DAY), undefined);
  assert.equal(quotaFullAt(growing(GI / (31 * 86_400)), undefined), undefined);
});

test("an estimate that wavers changes nothing that was told, and one that moved does", () => {
  const reported = NOW + 10 * HOUR;
  for (const hours of [8, 9, 11, 12])
    assert.equal(quotaFullAt(growing(GI / (hours * 3_600)), reported), reported);
  assert.notEqual(quotaFullAt(growing(GI / (5 * 3_600)), reported), reported);
  assert.notEqual(quotaFullAt(growing(GI / (20 * 3_600)), reported), reported);
});

test("it is taken back well beyond the bound within which it is told", () => {
  const reported = NOW + 29 * DAY;
  assert.equal(quotaFullAt(growing(GI / (33 * 86_400)), reported), reported);
  assert.equal(quotaFullAt(growing(GI / (45 * 86_400)), reported), undefined);
});

test("after a restart of the operator what was told stands until there is a new estimate", () => {
  assert.equal(quotaFullAt(growing(undefined), NOW + DAY), NOW + DAY);
});

test("a time that has passed does not stay", () => {
  const at = quotaFullAt(growing(GI / (10 * 3_600), NOW), NOW - HOUR) ?? 0;
  assert.ok(at > NOW);
});
