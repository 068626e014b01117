import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { decide } from "../decide.ts";
import type { Observation } from "../observation.ts";
import type { ScheduleFacts, SnapshotFacts } from "../snapshots/facts.ts";
import { snapshotWorld } from "../snapshots/world.ts";
import { edit, healthy, NOW } from "../testing/cluster.ts";
import { scheduleNamed, snapshotNamed } from "../testing/snapshots.ts";
import { viewOf } from "../view.ts";

const HOUR = 3_600_000;

interface Setting {
  readonly schedules?: readonly ScheduleFacts[];
  readonly snapshots?: readonly SnapshotFacts[];
  readonly spec?: object;
}

/** A healthy cluster of 3.6 that is to run 3.7. */
function upgrading({ schedules = [scheduleNamed("nightly")], snapshots = [], spec = {} }: Setting = {}) {
  const world = edit(healthy(), { version: "3.7.3", ...spec });
  return { ...world, snapshots: { snapshots, schedules } };
}

function outcome(world: Observation): string {
  const { act, holds } = decide(world);
  if (act) return act.code;
  return holds.map(({ code }) => code).join();
}

function created(world: Observation) {
  const { before } = snapshotWorld(viewOf(world), world.snapshots ?? { snapshots: [] }, decide(world));
  return before && `${before.schedule.name} ${before.name}`;
}

const before = (phase: SnapshotFacts["status"]["phase"], change: Partial<SnapshotFacts> = {}) =>
  snapshotNamed("demo-before-3-7-1", { before: "3.7", status: { phase, message: "Denied." }, ...change });

describe("before members move to another minor version", () => {
  test("a snapshot is created with the schedule's destination, and the rollout waits for it", () => {
    const world = upgrading();
    assert.equal(outcome(world), "SnapshotBeforeAwaited");
    assert.equal(created(world), `nightly demo-before-3-7-${Math.floor(NOW / HOUR)}`);
    for (const phase of [undefined, "Pending", "Running"] as const) {
      const waits = upgrading({ snapshots: [before(phase)] });
      assert.equal(outcome(waits), "SnapshotBeforeAwaited");
      assert.equal(created(waits), undefined, "once");
      const long = upgrading({ snapshots: [before(phase, { createdAt: NOW - 9 * HOUR })] });
      assert.equal(created(long), undefined, "nor another one while it waits");
    }
    assert.notEqual(outcome(upgrading({ snapshots: [before("Succeeded")] })), "SnapshotBeforeAwaited");
    const status = { phase: "Succeeded", completedAt: new Date(NOW - HOUR / 2).toISOString() } as const;
    const slow = upgrading({ snapshots: [before("Succeeded", { createdAt: NOW - 2 * HOUR, status })] });
    assert.notEqual(outcome(slow), "SnapshotBeforeAwaited", "one that took more than an hour counts too");
  });

  test("a failed one holds the rollout with its words, is tried again after an hour, and can be done without", () => {
    const world = upgrading({ snapshots: [before("Failed")] });
    const [hold] = decide(world).holds;
    assert.equal(hold?.code, "SnapshotBeforeFailed");
    assert.match(hold?.message ?? "", /Denied/);
    assert.equal(created(world), undefined);
    const later = upgrading({ snapshots: [before("Failed", { createdAt: NOW - HOUR })] });
    assert.ok(created(later));
    const approved = { ...world, cluster: { ...world.cluster, approved: "without-snapshot-3.7" } };
    assert.doesNotMatch(outcome(approved), /Snapshot/);
    const other = { ...world, cluster: { ...world.cluster, approved: "without-snapshot-3.6" } };
    assert.equal(outcome(other), "SnapshotBeforeFailed");
  });

  test("one that is too old, of another cluster, or of another rollout does not count", () => {
    for (const change of [
      { createdAt: NOW - 2 * HOUR },
      { before: "3.6" },
      { status: { phase: "Succeeded", clusterUID: "another" } },
      { deleting: true },
    ] as const)
      assert.equal(outcome(upgrading({ snapshots: [before("Succeeded", change)] })), "SnapshotBeforeAwaited");
  });

  test("none is taken where there is no schedule, where it is switched off, and for a patch", () => {
    const free = (setting: Setting) => {
      const world = upgrading(setting);
      assert.doesNotMatch(outcome(world), /Snapshot/);
      assert.equal(created(world), undefined);
    };
    free({ schedules: [] });
    free({ schedules: [scheduleNamed("nightly", { spec: { suspend: true } })] });
    free({ spec: { update: { snapshotBefore: false } } });
    const patch = edit(healthy(), { options: { snapshotCount: 5000 } });
    const snapshots = { snapshots: [], schedules: [scheduleNamed("nightly")] };
    assert.doesNotMatch(outcome({ ...patch, snapshots }), /Snapshot/);
  });

  test("nothing is created while the rollout waits for something else", () => {
    const paused = upgrading({ spec: { paused: true } });
    assert.equal(created(paused), undefined);
    const unapproved = upgrading({ spec: { update: { strategy: "OnApproval" } } });
    assert.equal(created(unapproved), undefined);
  });
});
