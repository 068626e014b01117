import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { findDrift, repair, type Generator } from "../generate/registry.ts";
import { generatedFiles } from "./generated.ts";
import { openRepo } from "./repo.ts";
import { plantedRepo } from "./testing.ts";

const generator: Generator = {
  name: "numbers",
  outputs: ["gen/*.txt"],
  generate: async () =>
    new Map([
      ["gen/one.txt", "1\n"],
      ["gen/two.txt", "2\n"],
    ]),
};
const check = generatedFiles([generator]);

test("an edited, a missing and an orphaned generated file are named", async (t) => {
  const repo = plantedRepo(t, {
    "gen/one.txt": "1, edited\n",
    "gen/old.txt": "0\n",
    "gen/readme.md": "by hand",
  });
  assert.deepEqual(await check.run(repo), [
    "gen/one.txt: differs from what its generator makes (numbers): run npm run generate",
    "gen/two.txt: is missing (numbers): run npm run generate",
    "gen/old.txt: is no longer made by its generator (numbers): run npm run generate",
  ]);
});

test("npm run generate repairs all three, and a file written by hand stays", async (t) => {
  const repo = plantedRepo(t, {
    "gen/one.txt": "1, edited\n",
    "gen/old.txt": "0\n",
    "gen/readme.md": "by hand",
  });
  for (const drift of await findDrift([generator], repo.root, repo.files)) repair(drift, repo.root);
  const after = openRepo(repo.root);
  assert.deepEqual(await check.run(after), []);
  assert.deepEqual(
    after.files.filter((path) => path.startsWith("gen/")),
    ["gen/one.txt", "gen/readme.md", "gen/two.txt"],
  );
});

test("an edit after that is found again", async (t) => {
  const repo = plantedRepo(t, { "gen/one.txt": "1\n", "gen/two.txt": "2\n" });
  assert.deepEqual(await check.run(repo), []);
  const path = join(repo.root, "gen/two.txt");
  writeFileSync(path, `${readFileSync(path, "utf8")}by hand\n`);
  assert.match((await check.run(repo)).join(), /^gen\/two\.txt: differs/);
});
