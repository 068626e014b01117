import assert from "node:assert/strict";
import { test } from "node:test";
import { memoryRepo } from "./repo.ts";
import { ruleTests } from "./rule-tests.ts";

const found = async (...names: readonly string[]) =>
  (
    await ruleTests.run(memoryRepo(Object.fromEntries(names.map((name) => [`src/core/rules/${name}`, ""]))))
  ).join("\n");

test("a rule without a test, and a test without a rule, are found", async () => {
  assert.equal(await found("stay.ts", "stay.test.ts", "stay.aspect.test.ts"), "");
  assert.match(await found("stay.ts"), /^src\/core\/rules\/stay\.ts: write its test: stay\.test\.ts$/);
  assert.match(await found("stay.ts", "stay.aspect.test.ts"), /write its test/);
  assert.match(await found("words.test.ts"), /words\.test\.ts: there is no rule words/);
});
