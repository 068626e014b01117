import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { exited, healthy, NOW } from "../../core/testing/cluster.ts";
import type { ClusterObject } from "../target/target.ts";
import { styleFor } from "./style.ts";
import { lived, viewFor } from "./testing/worlds.ts";
import { keyOf, sampleOf, topLines } from "./top.ts";

const PLAIN = styleFor(false);
const file = new URL("../../../test/screens/top.txt", import.meta.url);

function named(name: string, cluster: ClusterObject, revision = 48_211, quota = "2Gi"): ClusterObject {
  const { metadata, spec, status } = cluster;
  return {
    ...cluster,
    metadata: { ...metadata, name },
    spec: { ...spec, options: { ...spec.options, quotaBackendBytes: quota } },
    status: { ...status, revision },
  };
}

const { cluster: well } = viewFor(lived(healthy()));
const { cluster: degraded } = viewFor(exited(lived(healthy()), "demo-3", "killed", { since: NOW - 30_000 }));
const { cluster: large } = viewFor(lived(healthy(), 1_900_000_000));
const { status: _none, ...unseen } = well;

test("the busiest clusters come first, then the largest, as reviewed", () => {
  const clusters = [
    named("quiet", well),
    named("busy", well, 58_211),
    named("large", large),
    named("degraded", degraded, 48_231),
    { ...unseen, metadata: { ...well.metadata, name: "new" } },
  ];
  const at = NOW - 2_000;
  const before = new Map([
    ...clusters.map((one) => [keyOf(one), { ...sampleOf(one, at), revision: 48_211 }] as const),
    // It was restored: its revision is below that of before.
    [keyOf(named("quiet", well)), { at, revision: 99_999, dbSize: 0 }],
  ]);
  const shown = `${topLines({ clusters, before, now: NOW, namespaces: true, width: 110 }, PLAIN).join("\n")}\n`;
  if (process.env["UPDATE_SCREENS"] === "1") writeFileSync(file, shown);
  assert.equal(
    shown,
    readFileSync(file, "utf8"),
    "run again with UPDATE_SCREENS=1 and review the difference",
  );
});

test("rates are unknown at the first look, and as many clusters are shown as there is room for", () => {
  const clusters = Array.from({ length: 50 }, (_, n) => named(`etcd-${n}`, well));
  const view = { clusters, before: new Map<string, never>(), now: NOW, namespaces: false, width: 110 };
  const lines = topLines({ ...view, room: 10 }, PLAIN);
  assert.equal(lines.length, 10);
  assert.equal(lines.at(-1), "and 42 more");
  assert.match(lines[1] ?? "", /^etcd-\d+ +Healthy +3\/3 +- +48,211/);
  assert.equal(topLines({ ...view, room: 51 }, PLAIN).length, 51);
  assert.equal(topLines(view, PLAIN).length, 51);
});
