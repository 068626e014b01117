import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { readCaughtBy } from "./caught-by.ts";
import { equivalents } from "./equivalent.ts";
import { allPlanted, plant } from "./plant.ts";

test("every planted fault still has its place in the code, and changes it", async () => {
  // All that moved at once: after a change of many files one at a time would be a run for each.
  const moved: string[] = [];
  for (const bug of allPlanted) {
    try {
      const replaced = await plant(bug);
      assert.ok(Object.keys(replaced).includes(bug.file), bug.name);
    } catch (error) {
      moved.push(String(error));
    }
  }
  assert.deepEqual(moved, []);
  assert.equal(new Set(allPlanted.map(({ name }) => name)).size, allPlanted.length);
});

test("a fault whose place is gone is told by name", async () => {
  const gone = { ...allPlanted[0]!, find: "no such line anywhere" };
  await assert.rejects(plant(gone), /occurs 0 times in .*: write the fault again/);
});

test("every mutant that is known to change nothing still has its line", () => {
  for (const { file, at } of equivalents) {
    const text = readFileSync(new URL(`../../${file}`, import.meta.url), "utf8");
    assert.ok(text.includes(at), `${file} has no line ${at}: take it off the list`);
  }
});

test("what is kept of who caught a fault names faults that exist", () => {
  const names = new Set(allPlanted.map(({ name }) => name));
  const gone = Object.keys(readCaughtBy()).filter((name) => !names.has(name));
  assert.deepEqual(gone, [], "run npm run proof:planted -- --keep, or take them out");
});
