import assert from "node:assert/strict";
import { test } from "node:test";
import type { Check } from "./check.ts";
import { memoryRepo } from "./repo.ts";
import { describeCheck } from "./report.ts";
import { runChecks } from "./run.ts";

const passes: Check = { name: "passes", run: () => [] };
const finds: Check = { name: "finds", run: async () => ["a.ts:1: a fault"] };
const throws: Check = {
  name: "throws",
  run() {
    throw new Error("broken check");
  },
};

test("all checks run and report, also after one that found something and one that broke", async () => {
  const reported: string[] = [];
  const results = await runChecks(memoryRepo({}), [throws, finds, passes], ({ name }) => reported.push(name));
  assert.deepEqual(reported.toSorted(), ["finds", "passes", "throws"]);
  const byName = new Map(results.map(({ name, findings }) => [name, findings]));
  assert.deepEqual(byName.get("finds"), ["a.ts:1: a fault"]);
  assert.deepEqual(byName.get("passes"), []);
  assert.match(byName.get("throws")?.join() ?? "", /the check itself failed: Error: broken check/);
});

test("a failed check is one line and its findings below, a passed one is one line", () => {
  assert.equal(describeCheck({ name: "seams", findings: [], ms: 120 }), "✔ seams          0.1 s");
  assert.equal(
    describeCheck({ name: "seams", findings: ["a.ts:1: a fault"], ms: 120 }),
    "✖ seams          0.1 s\n    a.ts:1: a fault",
  );
});
