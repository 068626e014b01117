import assert from "node:assert/strict";
import { test } from "node:test";
import { enumerate, scenarios } from "./enumerate.ts";

for (const scenario of scenarios) {
  test(`${scenario.name}: the operator may die, or not hear, after any effect (every eleventh of them here)`, () => {
    const { failures, plans } = enumerate(scenario, 1, 11);
    assert.deepEqual(failures, []);
    assert.ok(plans > 4);
  });
}
