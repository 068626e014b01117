import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { formatDuration, millisecondsOf, parseDuration } from "./duration.ts";

test("a duration is a sum of numbers with units", () => {
  const cases: [string, number | undefined][] = [
    ["100ms", 100],
    ["1h30m", 5_400_000],
    ["1.5s", 1500],
    ["0s", 0],
    ["100", undefined],
    ["1d", undefined],
    ["-1s", undefined],
    ["", undefined],
    ["1 h", undefined],
  ];
  for (const [text, value] of cases) assert.equal(parseDuration(text), value, text);
});

test("what is formatted parses back to the same number of milliseconds", () => {
  fc.assert(
    fc.property(fc.nat(10 ** 12), (milliseconds) => {
      assert.equal(parseDuration(formatDuration(milliseconds)), milliseconds);
    }),
  );
});

test("a sum of durations is the duration of the joined text", () => {
  const part = fc
    .tuple(fc.nat(1000), fc.constantFrom("h", "m", "s", "ms"))
    .map(([count, unit]) => `${count}${unit}`);
  fc.assert(
    fc.property(part, part, (a, b) => {
      assert.equal(millisecondsOf(a + b), millisecondsOf(a) + millisecondsOf(b));
    }),
  );
});

test("nonsense is refused with an example", () => {
  assert.throws(() => millisecondsOf("soon"), /"soon" is not a duration; write it like 100ms/);
  assert.throws(() => formatDuration(0.5), /not a whole/);
});
