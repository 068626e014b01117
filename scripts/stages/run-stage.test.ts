/** What fails is run once more alone; what passes then is flaky and no failure, what fails again has failed. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import type { StageResult } from "./result.ts";
import { runStages } from "./run-stage.ts";
import type { Stage } from "./table.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const QUIET = { say: () => {}, progress: () => {}, working: () => {}, idle: () => {} };

const PASSES = `test("well", () => {});`;
const FAILS = `test("wrong", () => assert.fail("always"));`;

/** Fails unless its file was run before. */
function failsOnce(folder: string): string {
  const mark = JSON.stringify(join(folder, "mark"));
  return `test("once", () => {
    if (existsSync(${mark})) return;
    writeFileSync(${mark}, "");
    assert.fail("the first time");
  });`;
}

async function run(
  t: TestContext,
  processes: Stage["processes"],
  bodies: (folder: string) => readonly string[],
): Promise<StageResult | undefined> {
  const folder = mkdtempSync(join(tmpdir(), "quorate-stages-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const head = `import { test } from "node:test";
    import assert from "node:assert";
    import { existsSync, writeFileSync } from "node:fs";`;
  const files = bodies(folder).map((body, index) => {
    const file = join(folder, `${index}.test.mjs`);
    writeFileSync(file, `${head}\n${body}\n`);
    return file;
  });
  const stage: Stage = {
    id: "planted",
    title: "planted",
    fast: true,
    files: [],
    processes,
    testLimitMs: 20_000,
    processLimitMs: 60_000,
  };
  const { signal } = new AbortController();
  const [result] = await runStages({ runs: [{ root, stage, files, signal }], voice: QUIET });
  return result;
}

const names = (result: StageResult | undefined) => result?.flaky.map(({ file }) => basename(file));

for (const processes of ["apart", "together"] as const) {
  test(`files run ${processes}: one that fails once and then passes alone is flaky, and counts as passed`, async (t) => {
    const result = await run(t, processes, (folder) => [PASSES, failsOnce(folder)]);
    assert.deepEqual([result?.tests, result?.passed, result?.failed], [2, 2, 0]);
    assert.deepEqual(result?.failures, []);
    assert.deepEqual(names(result), ["1.test.mjs"]);
    assert.equal(result?.files?.length, 2, "each has its time");
    assert.match(result?.flaky[0]?.text ?? "", /the first time/);
  });

  test(`files run ${processes}: one that fails again has failed`, async (t) => {
    const result = await run(t, processes, (folder) => [FAILS, failsOnce(folder)]);
    assert.ok((result?.failed ?? 0) >= 1);
    assert.equal(result?.failures.length, 1);
    assert.match(result?.failures[0] ?? "", /always/);
    assert.deepEqual(names(result), ["1.test.mjs"]);
  });
}

test("many failures are no accident: nothing is run again", async (t) => {
  const result = await run(t, "apart", (folder) => [failsOnce(folder), ...Array<string>(10).fill(FAILS)]);
  assert.equal(result?.failed, 11);
  assert.deepEqual(result?.flaky, []);
});
