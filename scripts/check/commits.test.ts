import assert from "node:assert/strict";
import { test } from "node:test";
import { commitsOf, type History } from "./commits.ts";
import { memoryRepo } from "./repo.ts";

const history: History = () => ({ commits: ["4bf1318c00", "2701587f00"] });

async function found(text: string, notes: string[] = [], of: History = history): Promise<string> {
  const check = commitsOf(of);
  return (await check.run(memoryRepo({ "docs/a.md": text }), (note) => notes.push(note))).join("\n");
}

test("a commit that is not in the history is found with its line", async () => {
  assert.equal(await found("measured at 4bf1318, and just before 2701587"), "");
  assert.match(await found("one\nat d51990a."), /^docs\/a\.md:2: commit d51990a is not in the history/);
  assert.match(await found("| 334 s | d51990a | passed |"), /d51990a/);
  assert.match(await found("at commit 1234567"), /1234567/);
});

test("what is no commit passes: numbers, words, code, paths, generated pages", async () => {
  assert.equal(await found("1000000 keys were defaced in demo-2.b1d6f0c2 of 0f4a91bb2cc19d3a"), "");
  assert.equal(await found("`--id 7f0c9a52` in\n```\nplan 1f0c2a9b\n```\n"), "");
  assert.equal(await found("<!-- Generated from x. -->\napproval 1f0c2a9b"), "");
});

test("without the whole history nothing is found, and that is said", async () => {
  const notes: string[] = [];
  assert.equal(await found("at d51990a", notes, () => ({ unknown: "this clone is shallow" })), "");
  assert.deepEqual(notes, ["commits that pages cite were not looked up: this clone is shallow"]);
});
