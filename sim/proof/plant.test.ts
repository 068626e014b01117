import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { equivalents } from "./equivalent.ts";
import { allPlanted, plant } from "./plant.ts";

test("every planted fault still has its place in the code, and changes it", async () => {
  for (const bug of allPlanted) {
    const replaced = await plant(bug);
    assert.ok(Object.keys(replaced).includes(bug.file), bug.name);
  }
  assert.equal(new Set(allPlanted.map(({ name }) => name)).size, allPlanted.length);
});

test("a fault whose place is gone is told by name", async () => {
  const gone = { ...allPlanted[0]!, find: "no such line anywhere" };
  await assert.rejects(plant(gone), /occurs 0 times in .*: write the fault anew/);
});

test("every mutant that is known to change nothing still has its line", () => {
  for (const { file, at } of equivalents) {
    const text = readFileSync(new URL(`../../${file}`, import.meta.url), "utf8");
    assert.ok(text.includes(at), `${file} has no line ${at}: take it off the list`);
  }
});
