import assert from "node:assert/strict";
import { test } from "node:test";
import { parse } from "yaml";
import { METRICS } from "../../src/operator/serve/metrics-table.ts";
import { metricsPage } from "./metrics.ts";

interface Alert {
  readonly alert: string;
  readonly expr: string;
}

async function alerts(): Promise<Alert[]> {
  const page = (await metricsPage.generate()).get("docs/metrics.md") ?? "";
  const [, yaml = ""] = /```yaml\n([\s\S]*?)```/.exec(page.slice(page.indexOf("- alert:") - 500)) ?? [];
  const { groups } = parse(yaml) as { groups: { rules: Alert[] }[] };
  return groups.flatMap(({ rules }) => rules);
}

test("every alert names metrics that exist", async () => {
  const known = new Set<string>(Object.values(METRICS).map(({ name }) => name));
  const found = await alerts();
  assert.ok(found.length >= 10, `${found.length}`);
  for (const { alert, expr } of found)
    for (const [name] of expr.matchAll(/quorate_\w+/g)) assert.ok(known.has(name), `${alert}: ${name}`);
});

test("the alert for a missing leader also fires when no operator runs, where the sum has no series", async () => {
  const leaderless = (await alerts()).filter(({ expr }) => expr.includes(METRICS.leaseHeld.name));
  assert.equal(leaderless.length, 1);
  assert.match(leaderless[0]?.expr ?? "", /^\(sum\(quorate_lease_held\) or vector\(0\)\) != 1$/);
});
