import assert from "node:assert/strict";
import { test } from "node:test";
import type { Observation } from "../observation.ts";
import type { SnapshotFacts } from "../snapshots/facts.ts";
import { world } from "../testing/quorum-loss.ts";
import { viewOf } from "../view.ts";
import { recoveryOf } from "./recovery.ts";

const clusterID = world.cluster.marks.established?.clusterID ?? assert.fail();

function snapshot(name: string, status: SnapshotFacts["status"]): SnapshotFacts {
  const spec = { cluster: "demo" } as SnapshotFacts["spec"];
  const made = { uid: name, resourceVersion: "1", generation: 1, createdAt: 0, deleting: false, held: false };
  return { name, ...made, spec, status: { phase: "Succeeded", clusterID, ...status }, jobs: [] };
}

const withSnapshots = (...snapshots: readonly SnapshotFacts[]): Observation => ({
  ...world,
  snapshots: { snapshots },
});

const told = (observation: Observation) => recoveryOf(viewOf(observation))?.snapshot;

test("the plan names the snapshot with the highest revision of this cluster, and what it lacks", () => {
  const seen = world.etcd.highestRevision ?? 0;
  const newest = snapshot("newest", { revision: seen - 7, verifiedAt: "2026-05-04T10:00:00Z" });
  const found = told(
    withSnapshots(snapshot("older", { revision: 5 }), newest, snapshot("old", { revision: 9 })),
  );
  const lost = recoveryOf(viewOf(world))?.lostRevisions;
  assert.deepEqual(found, {
    name: "newest",
    revision: seen - 7,
    verifiedAt: "2026-05-04T10:00:00Z",
    ...(lost && { lostRevisions: 7 }),
  });
});

test("no snapshot is named that failed, is being deleted, or is of another cluster's data", () => {
  const failed = snapshot("failed", { phase: "Failed", revision: 9 });
  const other = snapshot("other", { clusterID: "1234", revision: 9 });
  const going = { ...snapshot("going", { revision: 9 }), deleting: true };
  assert.equal(told(withSnapshots(failed, other, going)), undefined);
  assert.equal(told(world), undefined);
});

test("with it unknown how far the cluster had come, it is not told how much a snapshot lacks", () => {
  const { quorumSeenAt: _, ...etcd } = world.etcd;
  const found = told({ ...withSnapshots(snapshot("one", { revision: 9 })), etcd });
  assert.deepEqual(found, { name: "one", revision: 9 });
});
