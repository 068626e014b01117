/**
 * Scenarios of test/scenarios with the operator on a real API server: by default those that no other test shows here;
 * all of them with `npm run e2e -- --all`.
 */
import { after, before, test } from "node:test";
import type { TestTestbed } from "../../testbed/for-tests.ts";
import { scenariosFor } from "../scenarios/all.ts";
import { onTestbed } from "../scenarios/on-testbed.ts";
import { startOperator, upWithDefinitions, type Running } from "../support/operator.ts";
import { EVERY_CASE } from "../support/sample.ts";

const SAMPLE = ["a total outage", "quorum lost for good"];

let bed: TestTestbed;
let running: Running;

before(async () => {
  bed = await upWithDefinitions();
  running = startOperator(bed);
});

after(async () => {
  await running?.stop();
  await bed?.down();
});

for (const [index, scenario] of scenariosFor("kubernetes").entries()) {
  if (!EVERY_CASE && !SAMPLE.includes(scenario.name)) continue;
  test(`${scenario.name}: the operator on the testbed`, async () => {
    await using platform = await onTestbed(scenario, bed, running, `scenario-${index + 1}`);
    await scenario.run(platform);
  });
}
