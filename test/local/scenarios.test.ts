/**
 * Scenarios of test/scenarios on local processes: by default those that no other test shows here; all of them with
 * `npm test -- --all`.
 */
import { test } from "node:test";
import { scenariosFor } from "../scenarios/all.ts";
import { onLocal } from "../scenarios/on-local.ts";
import { EVERY_CASE } from "../support/sample.ts";

const SAMPLE = ["hibernate and wake", "a total outage", "quorum lost for good"];

for (const scenario of scenariosFor("machine")) {
  if (!EVERY_CASE && !SAMPLE.includes(scenario.name)) continue;
  test(`${scenario.name}: on local processes`, async () => {
    await using platform = await onLocal(scenario);
    await scenario.run(platform);
  });
}
