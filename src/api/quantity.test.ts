import assert from "node:assert/strict";
import process from "node:process";
import { test } from "node:test";
import fc from "fast-check";
import { bytesOf, formatBytes, parseQuantity } from "./quantity.ts";

test("a quantity is a number with an optional suffix of ten or two", () => {
  const cases: [string | number, number | undefined][] = [
    ["10Gi", 10 * 2 ** 30],
    ["1.5Mi", 1_572_864],
    ["500m", 0.5],
    ["5m", 0.005],
    ["1e3", 1000],
    ["7E", 7e18],
    ["2M", 2_000_000],
    [".5", 0.5],
    [42, 42],
    ["-1Ki", -1024],
    ["10 Gi", undefined],
    ["10GB", undefined],
    ["Gi", undefined],
    ["", undefined],
    ["1e", undefined],
    [Number.NaN, undefined],
    ["9223372036854774784", 2 ** 63 - 1024],
    ["8Ei", undefined],
    ["1e99", undefined],
    [2 ** 63, undefined],
    ["1e-99", 1e-99],
  ];
  for (const [text, value] of cases) assert.equal(parseQuantity(text), value, String(text));
});

test("bytes are whole, rounded up, and nonsense is refused with an example", () => {
  assert.equal(bytesOf("1500m"), 2);
  assert.throws(() => bytesOf("lots"), /"lots" is not a Kubernetes quantity; write it like 512Mi/);
});

test("a quantity with more digits or a larger exponent than Kubernetes stores is refused without computing it", () => {
  for (const text of ["1e3000000", "1e-3000000", "1E3000000", `1e${"9".repeat(60)}`, "9".repeat(1_000_000)]) {
    const { result, ms } = timed(() => parseQuantity(text));
    assert.equal(result, undefined);
    assert.ok(ms < 20, `${text.slice(0, 20)} took ${ms} ms`);
  }
});

/** By the CPU time of this process: other processes do not count. */
function timed<T>(run: () => T): { result: T; ms: number } {
  const before = process.cpuUsage();
  const result = run();
  const { user, system } = process.cpuUsage(before);
  return { result, ms: (user + system) / 1_000 };
}

test("what is formatted parses back to the same number of bytes", () => {
  fc.assert(
    fc.property(fc.maxSafeNat(), (bytes) => {
      assert.equal(parseQuantity(formatBytes(bytes)), bytes);
    }),
  );
});

test("whole binary units are written with their suffix", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 1023 }),
      fc.constantFrom("Ki", "Mi", "Gi", "Ti"),
      (count, suffix) => {
        assert.equal(formatBytes(bytesOf(`${count}${suffix}`)), `${count}${suffix}`);
      },
    ),
  );
});
