import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import type { TestRecord } from "./records.ts";
import { runTestProcess } from "./test-process.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Runs one planted test file. */
async function run(t: TestContext, body: string, processLimitMs = 60_000) {
  const folder = mkdtempSync(join(tmpdir(), "quorate-stage-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "planted.test.mjs");
  writeFileSync(
    file,
    `import { test, describe } from "node:test";\nimport assert from "node:assert";\n${body}\n`,
  );
  const records: TestRecord[] = [];
  const { signal } = new AbortController();
  const onRecord = (record: unknown) => {
    if ((record as TestRecord).kind === "test") records.push(record as TestRecord);
  };
  const end = await runTestProcess({
    root,
    files: [file],
    testLimitMs: 5000,
    processLimitMs,
    signal,
    onRecord,
  });
  return { ...end, records };
}

test("passed, failed and skipped tests are counted, a failure with its place and its reason", async (t) => {
  const { counts, faults, records, output } = await run(
    t,
    `console.log("printed"); test("one", () => {}); test("two", { skip: "not here" }, () => {});
     describe("group", () => { test("three", () => assert.equal(1, 2)); });`,
  );
  assert.deepEqual(faults, []);
  assert.match(output, /printed/);
  assert.deepEqual([counts?.tests, counts?.passed, counts?.failed, counts?.skipped], [3, 1, 1, 1]);
  const failed = records.find((one) => !one.ok && !one.suite);
  assert.deepEqual(failed?.path, ["group", "three"]);
  assert.match(failed?.error ?? "", /1 == 2/);
  assert.match(failed?.file ?? "", /planted\.test\.mjs$/);
  assert.equal(records.find((one) => one.skipped)?.path[0], "two");
});

test("a process that exits with 0 in the middle of its tests has failed", async (t) => {
  const { faults } = await run(t, `test("one", () => { process.exit(0); });`);
  assert.deepEqual(faults, ["ended (0) before its tests did"]);
});

test("an exception after the tests have ended is a failure", async (t) => {
  const { faults, counts } = await run(
    t,
    `test("one", () => { setTimeout(() => { throw new Error("late"); }, 20); });`,
  );
  assert.equal(counts?.failed, 0);
  assert.match(faults.join("\n"), /late/);
});

test("a handle left open ends in a failure that says so, not in a hang", async (t) => {
  const { faults } = await run(t, `test("one", () => { setInterval(() => {}, 1000); });`, 1500);
  assert.match(faults.join("\n"), /still running after 2 s/);
});

test("a process that a test left running is ended and reported, also one in a group of its own", async (t) => {
  const leave = async (detached: boolean) => {
    const { faults, output } = await run(
      t,
      `import { spawn } from "node:child_process";
       test("one", () => {
         const child = spawn("sleep", ["300"], { stdio: "ignore", detached: ${detached} });
         child.unref();
         console.log("pid " + child.pid);
       });`,
    );
    assert.deepEqual(faults, ["left a process running (ended now): sleep 300"]);
    assert.ok(!isRunning(Number(/pid (\d+)/.exec(output)?.[1])));
  };
  await Promise.all([leave(false), leave(true)]);
});

test("files that a test left in its temporary folder are removed and reported", async (t) => {
  const { faults, output } = await run(
    t,
    `import { mkdtempSync, existsSync } from "node:fs";
     import { tmpdir } from "node:os";
     test("one", () => { console.log("folder " + mkdtempSync(tmpdir() + "/left-")); });`,
  );
  assert.match(faults.join("\n"), /^left files in its temporary folder \(removed now\): left-/);
  assert.ok(!existsSync(/folder (.*)/.exec(output)?.[1] ?? "/"));
});

/** Ended, or a zombie for want of a parent that reaps. */
function isRunning(pid: number): boolean {
  const state = spawnSync("ps", ["-o", "stat=", "-p", String(pid)], { encoding: "utf8" }).stdout.trim();
  return state !== "" && !state.startsWith("Z");
}

test("a file that cannot be loaded is a failed test", async (t) => {
  const { counts } = await run(t, `import "./not-there.mjs";`);
  assert.equal(counts?.failed, 1);
});
