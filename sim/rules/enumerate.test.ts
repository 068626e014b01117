import assert from "node:assert/strict";
import { test } from "node:test";
import { enumerate } from "../driver/enumerate.ts";
import { rulesWorld } from "./enumerate.ts";

/** Which of the effects are tried. */
const EVERY = process.env["QUORATE_FAST"] === "1" ? 61 : 11;

for (const scenario of rulesWorld.scenarios) {
  test(`${scenario.name}: the operator may die, or not hear, after any effect (one in ${EVERY} here)`, async () => {
    const { failures, plans } = await enumerate(rulesWorld, scenario, 1, EVERY);
    assert.deepEqual(failures, []);
    assert.ok(plans >= 2);
  });
}
