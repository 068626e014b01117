import assert from "node:assert/strict";
import { test } from "node:test";
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
