/** Restores to a point in time, as the rules see them: an EtcdSnapshot of it is built first, and goes afterwards. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { pointPlan } from "./restore-plan.ts";
import { bootPoint, pointState, type WantedPoint } from "./restore-point.ts";
import { decide } from "../decide.ts";
import type { Observation } from "../observation.ts";
import { restoreHash } from "../record.ts";
import { decideSnapshots } from "../snapshots/decide.ts";
import type { SnapshotFacts } from "../snapshots/facts.ts";
import { snapshotWorld } from "../snapshots/world.ts";
import { asked, healthy, run } from "../testing/cluster.ts";
import { asking, reportedStatus } from "../testing/operations.ts";
import { scheduleNamed, snapshotNamed } from "../testing/snapshots.ts";
import { viewOf } from "../view.ts";

const BUCKET = { s3: { bucket: "backups", prefix: "prod", credentialsSecret: "store" } };
const KEY = { keySecret: "key" };
const schedule = scheduleNamed("nightly", {
  spec: { cluster: "other", destination: BUCKET, encryption: KEY },
});
const POINT = { revision: 2_500, schedule: "nightly" };
const SOURCE = { s3: { bucket: "backups", key: "prod/point.db", credentialsSecret: "store" } };

type Restore = NonNullable<NonNullable<Parameters<typeof asked>[0]>["bootstrap"]>["restore"];

function booting(restore: Restore, change: Partial<Observation> = {}): Observation {
  const world = { ...asked({ bootstrap: { restore } }), ...change };
  return { ...world, platform: { ...world.platform, pointSchedules: { nightly: schedule.spec } } };
}

/** What is decided for snapshots beside the steps. */
function effectsFor(observation: Observation) {
  const view = viewOf(observation);
  const state = observation.snapshots ?? { snapshots: [] };
  return decideSnapshots(snapshotWorld(view, state, decide(observation))).effects;
}

function wantedBy(observation: Observation): WantedPoint {
  const [effect] = effectsFor(observation);
  assert.ok(effect?.kind === "CreatePoint", JSON.stringify(effect));
  return effect.point;
}

/** As the platform shows the one that was made. */
function madeOf({ name, spec, owner }: WantedPoint, change: Partial<SnapshotFacts> = {}): SnapshotFacts {
  return { ...snapshotNamed(name), spec, restores: owner.uid, ...change };
}

const BUILT = {
  source: SOURCE,
  held: true,
  status: { phase: "Succeeded", startedAt: "2026-01-01T00:00:00Z", sha256: "a".repeat(64) },
} as const;

const holdsOf = (observation: Observation) => decide(observation).holds.map(({ code }) => code);

test("before the first boot the snapshot is built as an EtcdSnapshot of the cluster's own, from the schedule's folder", () => {
  const world = booting({ pointInTime: POINT });
  assert.deepEqual(holdsOf(world), ["PointAwaited"]);
  assert.equal(decide(world).act, undefined, "nobody is started meanwhile");
  const point = wantedBy(world);
  assert.match(point.name, /^demo-point-[0-9a-f]{16}$/);
  assert.deepEqual(point.owner, { kind: "EtcdCluster", name: "demo", uid: world.cluster.uid });
  assert.deepEqual(point.spec, {
    cluster: "demo",
    destination: BUCKET,
    encryption: KEY,
    pointInTime: { revision: 2_500 },
    verify: false,
    deletionPolicy: "Delete",
  });
  const made = madeOf(point, { status: { phase: "Running", message: "Pod x is taking the snapshot." } });
  const building = { ...world, snapshots: { snapshots: [made] } };
  assert.deepEqual(holdsOf(building), ["PointAwaited"]);
  assert.ok(!effectsFor(building).some(({ kind }) => kind === "CreatePoint"), "there is never a second one");
});

test("once it is built the first member starts from it, and it goes when the cluster is there", () => {
  const world = booting({ pointInTime: POINT, revisionBump: "None" });
  const made = madeOf(wantedBy(world), BUILT);
  const built = { ...world, snapshots: { snapshots: [made] } };
  const { act } = decide(built);
  assert.ok(act?.action.kind === "CreateMember");
  const { restore } = act.action.record;
  assert.deepEqual(restore, {
    pointInTime: POINT,
    revisionBump: "None",
    snapshot: made.name,
    source: SOURCE,
    checksum: "a".repeat(64),
    encryption: KEY,
    fitsQuota: true,
  });
  assert.equal(restoreHash(restore), restoreHash({ pointInTime: POINT, revisionBump: "None" }));
  assert.deepEqual(effectsFor(built), [], "it is needed");
  const end = run(built);
  assert.deepEqual(
    end.members.map(({ record }) => record.restore !== undefined),
    [true, false, false],
  );
  assert.deepEqual(effectsFor(end), [{ kind: "ForgetSnapshot", snapshot: made }]);
});

test("one that cannot be built, or from an unknown schedule, is told, and nobody starts without it", () => {
  const world = booting({ pointInTime: POINT });
  const failed = madeOf(wantedBy(world), { status: { phase: "Failed", message: "Nothing leads there." } });
  const { act, holds } = decide({ ...world, snapshots: { snapshots: [failed] } });
  assert.equal(act, undefined);
  const [hold] = holds;
  assert.equal(hold?.code, "PointNotBuilt");
  assert.match(hold.message, /could not be built .*: Nothing leads there/);
  const unknown = decide(booting({ pointInTime: { ...POINT, schedule: "weekly" } }));
  assert.deepEqual([unknown.act, unknown.holds[0]?.code], [undefined, "RestoreRefused"]);
  const foreign = madeOf(wantedBy(world), { restores: "somebody" });
  assert.deepEqual(holdsOf({ ...world, snapshots: { snapshots: [foreign] } }), ["RestoreRefused"]);
});

test("another point before the first boot is another snapshot, and the first one goes", () => {
  const world = booting({ pointInTime: POINT });
  const first = madeOf(wantedBy(world), BUILT);
  const edited = booting(
    { pointInTime: { ...POINT, revision: 2_400 } },
    { snapshots: { snapshots: [first] } },
  );
  const kinds = effectsFor(edited).map(({ kind }) => kind);
  assert.deepEqual(kinds.toSorted(), ["CreatePoint", "ForgetSnapshot"]);
  const view = viewOf(edited);
  const point = bootPoint(view);
  assert.ok(point && pointState(view, point).is === "wanted");
});

const world = healthy();
const { uid, marks, spec } = world.cluster;
const folder = { destination: BUCKET, pointInTime: { time: "2026-11-17T08:29:00.000Z" } };
const plan = pointPlan({ uid, clusterID: marks.established?.clusterID, version: spec.version }, folder);
const task = {
  kind: "restore",
  pointInTime: { ...folder.pointInTime, destination: BUCKET },
  approve: plan,
} as const;
const RUNNING = { status: { phase: "Running" } } as const;

/** What the point of the operation in this world is made as. */
function madeFor(observation: Observation, change: Partial<SnapshotFacts> = {}): SnapshotFacts {
  return madeOf(wantedBy(observation), change);
}

test("in place the plan is of the point and its folder, and is built once it is approved", () => {
  const unapproved = decide(asking(world, { ...task, approve: undefined })).act;
  assert.ok(unapproved?.action.kind === "UpdateOperation");
  const { reason, message = "" } = unapproved.action.status;
  assert.equal(reason, "ApprovalNeeded");
  assert.match(
    message,
    new RegExp(`the state at 2026-11-17T08:29:00\\.000Z, as recorded in s3://backups/prod/.*${plan}`),
  );
  assert.deepEqual(effectsFor(asking(world, { ...task, approve: undefined })), []);
  const waiting = asking(world, task, RUNNING);
  assert.ok(holdsOf(waiting).includes("RestoreAwaitsPoint"));
  assert.equal(reportedStatus(waiting), "Running OperationRunning");
  const point = wantedBy(waiting);
  assert.deepEqual(point.owner, { kind: "EtcdOperation", name: "task", uid: "uid-of-task" });
  const built = { ...waiting, snapshots: { snapshots: [madeFor(waiting, BUILT)] } };
  const { act } = decide(built);
  assert.ok(act?.action.kind === "FetchSnapshot", act?.action.kind);
  assert.deepEqual(act.action.restore, { source: SOURCE, checksum: "a".repeat(64) });
  assert.equal(act.action.plan, plan);
});

test("why it cannot be created is said, and not what another one could not be created for", () => {
  const waiting = asking(world, task, RUNNING);
  const saidWith = (pointFailures: Record<string, string>) => {
    const { holds } = decide({ ...waiting, snapshots: { snapshots: [], pointFailures } });
    return holds.find(({ code }) => code === "RestoreAwaitsPoint")?.message ?? "";
  };
  assert.match(saidWith({ "uid-of-task": "exceeded quota" }), /exceeded quota/);
  assert.doesNotMatch(saidWith({ "uid-of-another": "exceeded quota" }), /exceeded quota/);
});

test("a point that cannot be built fails the operation, and no member was stopped", () => {
  const waiting = asking(world, task, RUNNING);
  const failed = madeFor(waiting, { status: { phase: "Failed", message: "Nothing leads there." } });
  const { act } = decide({ ...waiting, snapshots: { snapshots: [failed] } });
  assert.ok(act?.action.kind === "UpdateOperation");
  const { phase, reason, message = "" } = act.action.status;
  assert.deepEqual([phase, reason], ["Failed", "PointUnavailable"]);
  assert.match(message, /could not be built, and no data was changed: Nothing leads there\.$/);
});

test("its snapshot is needed until the operation has ended, whatever became of it", () => {
  const waiting = asking(world, task, RUNNING);
  const made = madeFor(waiting, BUILT);
  const snapshots = { snapshots: [made] };
  const fetched = {
    plan,
    source: { pvc: { claimName: "c", path: "s.db" } },
    sha256: "a".repeat(64),
    revision: 9,
  };
  const stopping = { ...waiting, snapshots, platform: { ...waiting.platform, fetched } };
  assert.deepEqual(effectsFor(stopping), []);
  for (const phase of ["Succeeded", "Failed", "Rejected"] as const) {
    const ended = { ...asking(world, task, { status: { phase } }), snapshots };
    assert.deepEqual(effectsFor(ended), [{ kind: "ForgetSnapshot", snapshot: made }], phase);
  }
  // That it is not seen is no proof, unless nobody else could take it along.
  const gone = { ...world, snapshots };
  assert.deepEqual(effectsFor(gone), []);
  const machine = { command: "quorate", dir: "/demo" };
  const local = { ...gone, platform: { ...gone.platform, machine } };
  assert.deepEqual(effectsFor(local), [{ kind: "ForgetSnapshot", snapshot: made }]);
});

test("a schedule that moves to another folder after the approval is another plan", () => {
  const named = { ...task, pointInTime: { time: folder.pointInTime.time, schedule: "nightly" } } as const;
  const other = scheduleNamed("nightly", { spec: { destination: { s3: { bucket: "elsewhere" } } } });
  const moved = asking(world, named, RUNNING);
  const platform = { ...moved.platform, pointSchedules: { nightly: other.spec } };
  const { act } = decide({ ...moved, platform });
  assert.ok(act?.action.kind === "UpdateOperation");
  assert.equal(act.action.status.reason, "PlanChanged");
});
