/** The product on a machine that is only modelled, killed after writes: what takes longer than people wait for before a commit. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { enumerate } from "../driver/enumerate.ts";
import { machineWorld } from "./enumerate.ts";

const sampled = [
  "restore 3 from a snapshot",
  "scale out 1 to 3",
  "upgrade 3.5 to 3.7",
  "hibernate and wake",
  "recover from a survivor",
  "restore a snapshot in place",
];

test("each of them is a scenario of the machine", () => {
  const names = machineWorld.scenarios.map(({ name }) => name);
  assert.deepEqual(
    sampled.filter((name) => !names.includes(name)),
    [],
  );
});

for (const scenario of machineWorld.scenarios.filter(({ name }) => sampled.includes(name))) {
  test(`${scenario.name}: the product may be killed after any write (a few of them here)`, async () => {
    const { failures, plans } = await enumerate(machineWorld, scenario, 1, 31);
    assert.deepEqual(failures, []);
    assert.ok(plans >= 2);
  });
}
