/**
 * Golden screens: what a person sees in each situation, as text files to be read and reviewed. `UPDATE_SCREENS=1`
 * writes what is shown instead.
 */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import type { SnapshotFacts } from "../../core/snapshots/facts.ts";
import type { Observation } from "../../core/observation.ts";
import { edit, exited, healthy, leaderOf, NOW, run } from "../../core/testing/cluster.ts";
import { scheduleNamed, snapshotNamed } from "../../core/testing/snapshots.ts";
import { alarm, silent, unquorate } from "../../core/testing/status.ts";
import type { ClusterObject, OperationObject } from "../target/target.ts";
import { explanationOf } from "./explain.ts";
import { listLines } from "./list.ts";
import { statusLines } from "./status.ts";
import { styleFor } from "./style.ts";
import { lived, viewFor } from "./testing/worlds.ts";
import { whyLines } from "./why.ts";

const HOUR_MS = 3_600_000;
const PLAIN = styleFor(false);
const folder = new URL("../../../test/screens/", import.meta.url);

function golden(name: string, lines: readonly string[]): void {
  const shown = `${lines.join("\n")}\n`;
  const file = new URL(`${name}.txt`, folder);
  if (process.env["UPDATE_SCREENS"] === "1") writeFileSync(file, shown);
  assert.equal(
    shown,
    readFileSync(file, "utf8"),
    "run again with UPDATE_SCREENS=1 and review the difference",
  );
  for (const line of lines) assert.ok(line.length <= 100, `wider than 100 columns: ${line}`);
}

function down(world: Observation, ...names: string[]): Observation {
  return names.reduce((before, name) => exited(before, name, "killed", { since: NOW - 30_000 }), world);
}

function asleep(): Observation {
  const world = edit(lived(healthy()), { replicas: 0 });
  const members = world.members.map((facts) => ({
    ...facts,
    record: { ...facts.record, run: false },
    workload: { state: "absent" as const },
    answer: { reachable: false as const, error: "not running" },
  }));
  return silent({ ...world, members });
}

const situations: Readonly<Record<string, () => Observation>> = {
  healthy: () => lived(healthy()),
  degraded: () => down(lived(healthy()), "demo-3"),
  "quorum-lost": () => {
    const world = lived(healthy());
    const lost = ["demo-2", "demo-3"].reduce((before, name) => exited(before, name, "data-missing"), world);
    return unquorate(lost);
  },
  hibernated: asleep,
  paused: () => down(edit(lived(healthy()), { paused: true, replicas: 5 }), "demo-2"),
  upgrading: () => edit(lived(healthy()), { version: "3.7.0" }),
  "no-space": () => alarm(lived(healthy(), 2_140_000_000), "NOSPACE", "id-of-demo-1"),
  nine: () => lived(run(edit(healthy(), { replicas: 9 }))),
  "not-backed-up": () => {
    const schedule = scheduleNamed("hourly", { createdAt: NOW - 50 * HOUR_MS });
    const taken = (hours: number, status: SnapshotFacts["status"]) => {
      const createdAt = NOW - hours * HOUR_MS;
      const startedAt = new Date(createdAt).toISOString();
      return snapshotNamed(`hourly-${hours}`, {
        schedule: schedule.uid,
        createdAt,
        status: { ...status, startedAt },
      });
    };
    const snapshots = [
      taken(26, { phase: "Succeeded" }),
      taken(1, { phase: "Failed", message: "the bucket backups does not exist." }),
    ];
    return { ...lived(healthy()), snapshots: { schedules: [schedule], snapshots } };
  },
};

for (const [name, world] of Object.entries(situations)) {
  test(`the status of a cluster that is ${name} is as reviewed`, () => {
    golden(`status-${name}`, statusLines(viewFor(world()), PLAIN));
  });
}

test("the status shows operations that are not finished, and remarks", () => {
  const at = new Date(NOW - 90_000).toISOString();
  const operation = (name: string, phase: string, task: object): OperationObject => ({
    metadata: { name, namespace: "default", creationTimestamp: at },
    spec: { cluster: "demo", ...task },
    status: { phase, message: `${name} is ${phase.toLowerCase()}` },
  });
  const operations = [
    operation("defragment-x7", "Running", { defragment: {} }),
    operation("move-k2", "Pending", { moveLeader: { to: "demo-2" } }),
    operation("old", "Succeeded", { compact: { retain: 100 } }),
  ];
  const remarks = ["No controller is running for this cluster, so nothing changes."];
  golden("status-operations", statusLines({ ...viewFor(lived(healthy()), operations), remarks }, PLAIN));
});

for (const name of ["degraded", "quorum-lost", "paused", "not-backed-up", "healthy"]) {
  test(`why a cluster that is ${name} does what it does is as reviewed`, () => {
    const { cluster } = viewFor(situations[name]!());
    golden(`why-${name}`, whyLines(explanationOf(cluster.status), 100, PLAIN));
  });
}

test("a list of two hundred clusters is readable", () => {
  const worlds = Object.values(situations).map((world) => viewFor(world()).cluster);
  const clusters = Array.from({ length: 200 }, (_, index): ClusterObject => {
    const cluster = worlds[index % 20 < 13 ? 0 : (index % 20) - 12] ?? worlds[0]!;
    const metadata = { ...cluster.metadata, name: `etcd-${index}`, namespace: `team-${index % 17}` };
    return { ...cluster, metadata };
  });
  const view = { clusters, namespaces: true, wide: false, now: NOW, width: 100 };
  golden("list-200", listLines(view, PLAIN));
  const live = listLines({ ...view, room: 23 }, PLAIN);
  assert.equal(live.length, 23);
  golden("list-200-live", live);
});

test("colours are around the text, never in its width", () => {
  const view = viewFor(situations["degraded"]!());
  const coloured = statusLines(view, styleFor(true)).join("\n");
  assert.notEqual(coloured, statusLines(view, PLAIN).join("\n"));
  // oxlint-disable-next-line no-control-regex
  assert.equal(coloured.replaceAll(/\x1b\[\d+m/g, ""), statusLines(view, PLAIN).join("\n"));
});

test("the leader is in the table as what it is", () => {
  const world = lived(healthy());
  const lines = statusLines(viewFor(world), PLAIN);
  assert.ok(lines.some((line) => line.startsWith(leaderOf(world)) && / Leader /.test(line)));
});
