import assert from "node:assert/strict";
import { test } from "node:test";
import { decide } from "../decide.ts";
import { healthy } from "../testing/cluster.ts";

test("the data of the voters is compared once per interval", () => {
  const world = healthy();
  assert.ok(decide(world).converged);
  const later = { ...world, now: world.now + 3_600_000 };
  assert.equal(decide(later).act?.action.kind, "CompareHashes");
});

test("an interval of zero turns it off, and one voter has nobody to compare with", () => {
  const off = healthy({ maintenance: { hashCheck: { interval: "0s" } } });
  assert.ok(decide({ ...off, now: off.now + 10_000_000 }).converged);
  const single = healthy({ replicas: 1 });
  assert.ok(decide({ ...single, now: single.now + 10_000_000 }).converged);
});
