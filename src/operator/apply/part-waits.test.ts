import assert from "node:assert/strict";
import { test } from "node:test";
import { PartWaits } from "./part-waits.ts";

const FORBIDDEN = { key: "forbidden", message: "forbidden" };

function waits() {
  const time = { now: 1_000_000, monotonic: 0 };
  return { time, waits: new PartWaits({ now: () => time.now, monotonic: () => time.monotonic }) };
}

test("a part that failed waits twice as long each time, ten seconds at most, and the others do not", () => {
  const { time, waits: parts } = waits();
  const waited: number[] = [];
  for (let i = 0; i < 8; i++) {
    parts.failed("the Pod of a-1", FORBIDDEN);
    assert.equal(parts.waiting("the Pod of a-1")?.problem, FORBIDDEN);
    assert.equal(parts.waiting("the Pod of a-2")?.problem, undefined);
    const due = (parts.lookAgainAt ?? 0) - time.now;
    waited.push(due);
    time.now += due;
    time.monotonic += due;
    assert.equal(parts.waiting("the Pod of a-1")?.problem, undefined);
  }
  assert.deepEqual(waited, [200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000]);
});

test("success, and another spec, forget what was", () => {
  const { waits: parts } = waits();
  parts.follow(1);
  parts.failed("one", FORBIDDEN);
  parts.failed("two", FORBIDDEN);
  parts.succeeded("one");
  assert.equal(parts.waiting("one")?.problem, undefined);
  parts.follow(1);
  assert.equal(parts.waiting("two")?.problem, FORBIDDEN);
  parts.follow(2);
  assert.equal(parts.waiting("two")?.problem, undefined);
  assert.equal(parts.lookAgainAt, undefined);
});

test("a part that nobody asks for any more is waited for no longer, else every look would be due at once", () => {
  const { time, waits: parts } = waits();
  parts.failed("the Pod of a-1", FORBIDDEN);
  parts.failed("the Pod of a-2", FORBIDDEN);
  time.now += 60_000;
  time.monotonic += 60_000;
  parts.keepOnly(new Set(["the Pod of a-2"]));
  assert.equal(parts.lookAgainAt, time.now);
  parts.keepOnly(new Set());
  assert.equal(parts.lookAgainAt, undefined);
});
