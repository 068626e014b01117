import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { KeptSeeds } from "../proof/kept.ts";
import { randomRun } from "./random-run.ts";

test("the same seed gives the same run, to the last byte", async () => {
  const [first, second, other] = [await randomRun(7), await randomRun(7), await randomRun(8)];
  assert.deepEqual(first.trace, second.trace);
  assert.notDeepEqual(first.trace, other.trace);
});

test("twelve random runs keep every invariant and come to rest", async () => {
  for (let seed = 1; seed <= 12; seed++) {
    const { violation, trace } = await randomRun(seed);
    assert.equal(violation, undefined, trace.slice(-40).join("\n"));
  }
});

const { rules } = JSON.parse(
  readFileSync(new URL("../../test/seeds/rules.json", import.meta.url), "utf8"),
) as KeptSeeds;

for (const { seed, found, denied = false, fenced = false } of rules) {
  test(`seed ${seed} ends well: ${found}`, async () => {
    const { violation, trace } = await randomRun(seed, denied, fenced, false);
    assert.equal(violation, undefined, trace.slice(-40).join("\n"));
  });
}
