import assert from "node:assert/strict";
import { test } from "node:test";
import { enumerate } from "../driver/enumerate.ts";
import { rulesWorld } from "./enumerate.ts";

for (const scenario of rulesWorld.scenarios) {
  test(`${scenario.name}: the operator may die, or not hear, after any effect (every eleventh of them here)`, async () => {
    const { failures, plans } = await enumerate(rulesWorld, scenario, 1, 11);
    assert.deepEqual(failures, []);
    assert.ok(plans > 4);
  });
}
