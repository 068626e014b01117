import assert from "node:assert/strict";
import { test } from "node:test";
import type { Observation } from "../observation.ts";
import type { SnapshotFacts } from "../snapshots/facts.ts";
import { planOf, world } from "../testing/quorum-loss.ts";
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

/** Without the hash of its plan. */
function reported(observation: Observation) {
  const { plan: _plan, ...rest } = recoveryOf(viewOf(observation))?.snapshot ?? { name: undefined };
  return rest.name === undefined ? undefined : rest;
}

test("the plan names the snapshot with the highest revision of this cluster, and what it lacks", () => {
  const seen = world.etcd.highestRevision ?? 0;
  const newest = snapshot("newest", { revision: seen - 7, verifiedAt: "2026-05-04T10:00:00Z" });
  const found = reported(
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

test("what a snapshot lacks is from after it was begun, and later where a read told its revision", () => {
  const goneAt = planOf(world)?.goneAt ?? 0;
  const startedAt = new Date(goneAt - 90_000).toISOString();
  const taken = withSnapshots(snapshot("nightly", { revision: 60, startedAt }));
  assert.equal(reported(taken)?.lostSeconds, 90);
  const revisionLooks = [{ revision: 60, at: goneAt - 30_000 }];
  assert.equal(reported({ ...taken, etcd: { ...taken.etcd, revisionLooks } })?.lostSeconds, 30);
});

test("a snapshot of a survivor, or of a point in time, says nothing of when writes that it lacks were made", () => {
  const goneAt = planOf(world)?.goneAt ?? 0;
  const ago = (ms: number) => new Date(goneAt - ms).toISOString();
  const late = snapshot("late", { revision: 60, startedAt: ago(-300_000) });
  assert.equal(reported(withSnapshots(late))?.lostSeconds, undefined);
  const built = snapshot("built", { revision: 60, startedAt: ago(60_000) });
  const spec = { ...built.spec, pointInTime: { revision: 60 } } as SnapshotFacts["spec"];
  assert.equal(reported(withSnapshots({ ...built, spec }))?.lostSeconds, undefined);
});

test("no snapshot is named that failed, is being deleted, or is of another cluster's data", () => {
  const failed = snapshot("failed", { phase: "Failed", revision: 9 });
  const other = snapshot("other", { clusterID: "1234", revision: 9 });
  const going = { ...snapshot("going", { revision: 9 }), deleting: true };
  assert.equal(reported(withSnapshots(failed, other, going)), undefined);
  assert.equal(reported(world), undefined);
});

test("with it unknown how far the cluster had come, it is not told how much a snapshot lacks", () => {
  const { quorumSeenAt: _, ...etcd } = world.etcd;
  const found = reported({ ...withSnapshots(snapshot("one", { revision: 9 })), etcd });
  assert.deepEqual(found, { name: "one", revision: 9 });
});
