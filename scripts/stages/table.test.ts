/** Every test file runs in one stage: none is forgotten, none runs twice. */
import assert from "node:assert/strict";
import { globSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { stages } from "./table.ts";

const cwd = join(import.meta.dirname, "..", "..");

test("every test file belongs to one stage", () => {
  const claimed = stages.flatMap(({ files }) => globSync([...files], { cwd }));
  const all = globSync("{src,sim,test,testbed,scripts}/**/*.test.ts", { cwd });
  assert.ok(all.length > 100);
  assert.deepEqual(claimed.sort(), all.sort());
});

test("what a quick stage leaves to the whole run is among its files", () => {
  for (const { fast, files, notFast = [] } of stages) {
    assert.ok(fast || notFast.length === 0);
    const own = globSync([...files], { cwd });
    for (const file of notFast) assert.ok(own.includes(file), file);
  }
});
