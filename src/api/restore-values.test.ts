import assert from "node:assert/strict";
import { test } from "node:test";
import { AUTO_BUMP, bumpOf, revisionFloor, settleBump } from "./restore-values.ts";

const DAY_MS = 24 * 60 * 60_000;
const NOW = Date.UTC(2026, 10, 18);
/** Of a cluster that writes as fast as etcd can. */
const WRITTEN_A_DAY = 50_000 * 24 * 60 * 60;

/** The revision at which a cluster begins that is restored from a snapshot of this revision. */
const restored = (revision: number, at: number, isKnown = true) =>
  revision + bumpOf({ ...settleBump({}, at), ...(isKnown && { revision }) });

test("what is restored again from the same snapshot begins above all that was written after the first restore", () => {
  for (const isKnown of [true, false]) {
    const first = restored(70_000, NOW, isKnown);
    assert.ok(restored(70_000, NOW + DAY_MS, isKnown) > first + WRITTEN_A_DAY);
  }
});

test("so does an older snapshot after a restore of a restore, and nothing adds up", () => {
  let revision = 70_000;
  for (let day = 0; day < 1_000; day++) revision = restored(revision + 1_000, NOW + day * DAY_MS);
  const older = restored(70_000, NOW + 1_000 * DAY_MS);
  assert.ok(older > revision + WRITTEN_A_DAY);
  assert.ok(older < 1e14);
});

test("a snapshot that is above the floor is raised by what a cluster may have written since", () => {
  const high = revisionFloor(NOW) + 5;
  assert.equal(restored(high, NOW), high + AUTO_BUMP);
  assert.equal(bumpOf({}), AUTO_BUMP, "of a record from before there was a floor");
});

test("clocks that are wrong give no number that etcd or the spec would not take", () => {
  assert.equal(revisionFloor(0), 0);
  assert.equal(revisionFloor(Date.UTC(9999, 0, 1)), 999_999_999_999_999);
  assert.ok(Number.isSafeInteger(revisionFloor(NOW + 0.25)));
});

test("a number and None are what a person asked for, at any time", () => {
  for (const revisionBump of [5_000, "5000"] as const)
    assert.equal(bumpOf({ ...settleBump({ revisionBump }, NOW), revision: 7 }), 5_000);
  assert.equal(bumpOf(settleBump({ revisionBump: "None" }, NOW)), 0);
});
