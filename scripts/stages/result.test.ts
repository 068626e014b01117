import assert from "node:assert/strict";
import { test } from "node:test";
import { exitCodeOf, seconds, summary, type StageResult } from "./result.ts";

const passed: StageResult = {
  title: "unit",
  tests: 10,
  passed: 9,
  failed: 0,
  skipped: 1,
  todo: 0,
  ms: 1234,
  failures: [],
  flaky: [],
};
const flaky: StageResult = { ...passed, title: "real nodes", flaky: [{ file: "a.test.ts", text: "one" }] };
const failed: StageResult = { ...passed, title: "real etcd", tests: 3, passed: 1, failed: 2, skipped: 0 };
const nothing: StageResult = { ...passed, title: "simulation", tests: 2, passed: 0, failed: 0, skipped: 2 };
const absent: StageResult = {
  ...passed,
  title: "real API server",
  tests: 0,
  passed: 0,
  skipped: 0,
  couldNotRun: "no Go",
};

test("the table is followed by one sum in the form of node's runner", () => {
  assert.equal(
    summary([passed, failed, absent], 61_000),
    `stage            tests  pass  fail  skipped   time
unit                10     9     0        1  1.2 s
real etcd            3     1     2        0  1.2 s
real API server      -     -     -        -  1.2 s
real API server could not run: no Go

ℹ tests 13
ℹ suites 0
ℹ pass 10
ℹ fail 2
ℹ cancelled 0
ℹ skipped 1
ℹ todo 0
ℹ duration_ms 61000`,
  );
});

test("of many files the slowest are named", () => {
  const files = Array.from({ length: 9 }, (_, index) => ({ file: `${index}.test.ts`, ms: index * 1000 }));
  assert.match(summary([{ ...passed, files }], 0), /^slowest: 8\.test\.ts 8\.0 s, .*, 1\.test\.ts 1\.0 s$/m);
  assert.doesNotMatch(summary([{ ...passed, files: files.slice(1) }], 0), /slowest/);
});

test("a failed test fails the run", () => {
  assert.equal(exitCodeOf([passed], false), 0);
  assert.equal(exitCodeOf([passed, failed], false), 1);
});

test("a flaky file does not fail the run, and stands in the table and in the last line", () => {
  assert.equal(exitCodeOf([passed, flaky], true), 0);
  const lines = summary([passed, flaky], 0).split("\n");
  assert.ok(lines.includes("real nodes is flaky: a.test.ts failed, and passed when run again alone"));
  assert.equal(lines.at(-1), "flaky: a.test.ts");
});

test("a stage that could not run fails the run in CI only", () => {
  assert.equal(exitCodeOf([passed, absent], false), 0);
  assert.equal(exitCodeOf([passed, absent], true), 1);
});

test("a stage that executed no test has failed, and says so; so has a run without stages", () => {
  assert.equal(exitCodeOf([passed, nothing], false), 1);
  assert.match(summary([nothing], 0), /simulation executed no test/);
  assert.equal(exitCodeOf([], false), 1);
});

test("short times are reported in milliseconds, long ones in minutes", () => {
  assert.equal(seconds(12.3), "12 ms");
  assert.equal(seconds(950), "0.9 s");
  assert.equal(seconds(125_000), "2 min 05 s");
  assert.equal(seconds(179_700), "3 min 00 s");
});

test("how much was searched for keys and passwords is told, over all stages", () => {
  const searched = { files: 3, bytes: 3 * 2 ** 20 };
  assert.match(
    summary([{ ...passed, searched }, passed], 1),
    /\nsearched for keys and passwords: 3 files and objects, 3 MiB\n/,
  );
  assert.doesNotMatch(summary([passed], 1), /searched/);
});
