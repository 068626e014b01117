import assert from "node:assert/strict";
import { test } from "node:test";
import { revisionFloor } from "../../api/restore-values.ts";
import type { Action } from "../action.ts";
import { restorePlan } from "../assess/restore-plan.ts";
import { decide } from "../decide.ts";
import type { Observation } from "../observation.ts";
import { predict } from "../plan/predict.ts";
import { assertInvariants } from "../testing/naive-invariants.ts";
import { change, edit, exited, healthy, NOW, record } from "../testing/cluster.ts";
import { asking, reportedStatus } from "../testing/operations.ts";

const source = { s3: { bucket: "backups", key: "prod/demo.db" } };
const HIGHEST = 5_000_000_000;

/** With quorum nothing but the answers of the members says how far they are. */
const onMachine = (observation: Observation): Observation => ({
  ...observation,
  members: observation.members.map((facts) =>
    facts.answer.reachable ? { ...facts, answer: { ...facts.answer, revision: HIGHEST } } : facts,
  ),
  platform: { ...observation.platform, machine: { command: "quorate", dir: "/demo" } },
});

const world = onMachine(healthy());
const { uid, marks } = world.cluster;
const plan = restorePlan(
  { uid, clusterID: marks.established?.clusterID, version: world.cluster.spec.version },
  { source },
);
const task = { kind: "restore", source, approve: plan } as const;
const RUNNING = { status: { phase: "Running" } } as const;
const FETCHED = {
  plan,
  source: { file: { path: "/recovery/snapshot.db" } },
  sha256: "a".repeat(64),
  revision: 4_000,
};

/** How it ends, when the first step is its end. */
function ending(observation: Observation): (string | undefined)[] {
  const { act } = decide(observation);
  if (act) assertInvariants(observation, act.action);
  if (act?.action.kind !== "UpdateOperation") return [act?.action.kind];
  const { phase, reason, message } = act.action.status;
  return [phase, reason, message];
}

/** What the platform and etcd make of a step. */
function after(observation: Observation, action: Action): Observation {
  if (action.kind === "StopWorkload") {
    const stopped = exitedQuietly(observation, action.member);
    if (stopped.members.some(({ workload }) => workload.state === "running")) return stopped;
    const { list: _nobody, ...etcd } = stopped.etcd;
    return { ...stopped, etcd };
  }
  if (action.kind === "UpdateMember")
    return record(observation, action.member, { ...action.change, resourceVersion: "2" });
  if (action.kind === "FetchSnapshot")
    return { ...observation, platform: { ...observation.platform, fetched: FETCHED } };
  const { operations, cluster } = predict(observation, action);
  return { ...observation, operations, cluster };
}

function exitedQuietly(observation: Observation, member: string): Observation {
  return change(exited(observation, member), member, { workload: { state: "absent" } });
}

/** The kinds of steps up to the one that begins the new life, and that step. */
function walked(observation: Observation): { kinds: string[]; last: Action; now: Observation } {
  const kinds: string[] = [];
  let now = observation;
  for (let i = 0; i < 40; i++) {
    const { act, holds } = decide(now);
    assert.ok(act, `nothing is done: ${JSON.stringify(holds.map(({ code }) => code))}`);
    assertInvariants(now, act.action);
    kinds.push(act.action.kind);
    if (act.action.kind === "MarkCluster") return { kinds, last: act.action, now };
    now = after(now, act.action);
  }
  throw new Error("no new life begins");
}

test("an approved restore fetches the snapshot while all serve, then stops them, then begins a new life from it", () => {
  const { kinds, last } = walked(asking(world, task));
  assert.deepEqual(kinds, [
    "UpdateOperation",
    "FetchSnapshot",
    "UpdateOperation",
    "UpdateMember",
    "UpdateMember",
    "UpdateMember",
    "StopWorkload",
    "StopWorkload",
    "StopWorkload",
    "MarkCluster",
  ]);
  assert.ok(last.kind === "MarkCluster" && last.purpose === "recover");
  assert.equal(last.change.life, marks.life + 1);
  const { recovered } = last.change;
  assert.deepEqual([recovered?.plan, recovered?.survivor], [plan, undefined]);
  assert.deepEqual(recovered?.restore.source, FETCHED.source);
  assert.equal(recovered?.restore.checksum, FETCHED.sha256);
  // Above all that a watcher may have seen, however much older the snapshot is.
  const bump = Number(recovered?.restore.revisionBump);
  assert.ok(FETCHED.revision + bump >= HIGHEST + 1_000_000_000, String(bump));
  // And above every life that nothing is left of but watchers.
  assert.ok(FETCHED.revision + bump >= revisionFloor(NOW), String(bump));
});

test("the revision at its start is in its status: what was ever seen, or what a member answers, if that is more", () => {
  const settled = (observation: Observation) => {
    const { act } = decide(asking(observation, task));
    return act?.action.kind === "UpdateOperation" ? act.action.status.revision : undefined;
  };
  assert.equal(settled(world), HIGHEST);
  const one = exited(exited(world, "demo-1"), "demo-2");
  const { list: _nobody, ...etcd } = one.etcd;
  assert.equal(settled({ ...one, etcd: { ...etcd, highestRevision: HIGHEST + 7 } }), HIGHEST + 7);
  assert.equal(settled({ ...one, etcd: { ...etcd, highestRevision: 7 } }), HIGHEST);
});

test("without the hash of just this plan nothing is done, and the answer has it", () => {
  const of = (more: object) => ending(asking(world, { ...task, ...more }));
  const [phase, reason, message] = of({ approve: undefined });
  assert.deepEqual([phase, reason], ["Rejected", "ApprovalNeeded"]);
  assert.match(message ?? "", new RegExp(`replaced by s3://backups/prod/demo.db.*approve: ${plan}`));
  assert.equal(of({ approve: "0".repeat(16) })[1], "ApprovalNeeded");
  const checksum = "b".repeat(64);
  assert.equal(of({ checksum })[1], "ApprovalNeeded", "what was approved had no checksum");
});

test("an approval is good for one life of the cluster", () => {
  const next = edit(world, {});
  const established = { token: `${uid}-1`, clusterID: "another" };
  const other = { ...next, cluster: { ...next.cluster, marks: { ...marks, established } } };
  assert.equal(ending(asking(other, task))[1], "ApprovalNeeded");
  const running = asking(other, task, RUNNING);
  assert.deepEqual(ending(running).slice(0, 2), ["Failed", "PlanChanged"]);
});

test("an approval is for one version of etcd, also while it runs", () => {
  const version = "3.6.15";
  assert.notEqual(version, world.cluster.spec.version);
  assert.equal(ending(asking(edit(world, { version }), task))[1], "ApprovalNeeded");
  const { now } = walked(asking(world, task));
  assert.deepEqual(ending(edit(now, { version })).slice(0, 2), ["Failed", "PlanChanged"]);
});

test("a spec that could not be run afterwards is told before anybody is stopped, and until the new life", () => {
  const { version } = world.cluster.spec;
  const unavailableVersions = { [version]: "it cannot be downloaded" };
  const without = (observation: Observation) => ({
    ...observation,
    platform: { ...observation.platform, unavailableVersions },
  });
  const [phase, reason, message] = ending(asking(without(world), task));
  assert.deepEqual([phase, reason], ["Rejected", "SpecCannotRun"]);
  assert.match(message ?? "", /would not start: .*it cannot be downloaded/);
  const { now } = walked(asking(world, task));
  assert.deepEqual(ending(without(now)).slice(0, 2), ["Failed", "SpecCannotRun"]);
  const invalid = { ...world, cluster: { ...world.cluster, invalid: "spec.replicas: must be odd" } };
  assert.equal(ending(asking(invalid, task))[1], "SpecCannotRun");
});

test("a version that is being installed is waited for, before it starts and while it runs", () => {
  const arrivingVersions = { [world.cluster.spec.version]: "it is being installed (looking for it)" };
  const arriving = (observation: Observation) => ({
    ...observation,
    platform: { ...observation.platform, arrivingVersions },
  });
  assert.equal(decide(arriving(asking(world, task))).act?.code, decide(asking(world, task)).act?.code);
  const { act: step, holds } = decide(arriving(asking(world, task, RUNNING)));
  assert.equal(step, undefined);
  assert.ok(holds.some(({ code }) => code === "VersionArriving"));
});

test("Secrets, which one machine does not have, are rejected by the name of their field", () => {
  const s3 = { ...source.s3, credentialsSecret: "store" };
  const gcs = { bucket: "backups", key: "demo.db", caSecret: "ca" };
  for (const [given, field] of [
    [{ s3 }, "s3.credentialsSecret"],
    [{ gcs }, "gcs.caSecret"],
  ] as const) {
    const [, reason, message] = ending(asking(world, { ...task, source: given }));
    assert.equal(reason, "RestoreNotSupported");
    assert.ok(message?.includes(`estore.source.${field}`), message);
  }
});

test("from a claim, an EtcdSnapshot or with an etcd that cannot raise revisions, it is rejected on one machine", () => {
  const { source: _source, ...rest } = task;
  const claim = { ...task, source: { pvc: { claimName: "backups", path: "demo.db" } } };
  assert.equal(ending(asking(world, claim))[1], "RestoreNotSupported");
  const named = ending(asking(world, { ...rest, snapshot: "nightly" }));
  assert.deepEqual(named.slice(0, 2), ["Rejected", "RestoreNotSupported"]);
  const encrypted = ending(asking(world, { ...task, encryption: { keySecret: "key" } }));
  assert.match(encrypted[2] ?? "", /restore\.encryption\.keySecret/);
  const old = edit(world, { version: "3.5.9" });
  assert.equal(ending(asking(old, task))[1], "VersionDiffers");
});

test("while the cluster is paused or hibernated it is rejected at once: an approval does not wait", () => {
  assert.equal(reportedStatus(asking(edit(world, { paused: true }), task)), "Rejected Paused");
  assert.equal(reportedStatus(asking(edit(world, { replicas: 0 }), task)), "Rejected Hibernated");
  const queued = asking(asking(world, { kind: "defragment" }, { ...RUNNING, name: "other" }), task);
  assert.equal(reportedStatus(edit(queued, { paused: true })), "Rejected Paused", "not queued either");
  const begun = edit(asking(world, task, RUNNING), { paused: true });
  assert.equal(reportedStatus(begun), "Running Paused", "one that has started goes on afterwards");
  assert.equal(decide(begun).act, undefined);
});

test("a snapshot that cannot be fetched fails it before any member was stopped", () => {
  const failures = { count: 3, error: "there is no snapshot s3://backups/prod/demo.db" };
  const [phase, reason, message] = ending(asking(world, task, { ...RUNNING, failures }));
  assert.deepEqual([phase, reason], ["Failed", "StepFailed"]);
  assert.match(message ?? "", /no data was changed: there is no snapshot/);
});

test("without quorum it starts too, after what cannot go on", () => {
  const { list: _nobody, ...etcd } = exited(exited(world, "demo-1"), "demo-2").etcd;
  const lost = { ...exited(exited(world, "demo-1"), "demo-2"), etcd };
  assert.deepEqual(ending(asking(lost, task)).slice(0, 2), ["Running", "Started"]);
  const both = asking(asking(lost, { kind: "defragment" }, { ...RUNNING, name: "stuck" }), task);
  assert.deepEqual(ending(both).slice(0, 2), ["Failed", "QuorumRecovered"]);
});

test("when its operation is deleted before the new life, the members are started again", () => {
  const { now } = walked(asking(world, task));
  const woken = decide({ ...now, operations: [] });
  assert.deepEqual(woken.act?.action.kind, "UpdateMember");
  assert.ok(woken.act.action.kind === "UpdateMember" && woken.act.action.change.run);
});

test("in the new life its end is awaited, and said", () => {
  const recovered = { plan, operation: "uid-of-task", revision: 4_000, restore: { source } };
  const restored = { ...world, cluster: { ...world.cluster, marks: { ...marks, recovered } } };
  const before = [{ at: "2026-01-01T00:00:00Z", message: "fetched" }];
  const [, , noted] = ending(asking(restored, task, { status: { phase: "Running", steps: before } }));
  assert.match(noted ?? "", /Restored s3:\/\/backups\/prod\/demo.db, whose revision was 4000/);
  const steps = [{ at: "2026-01-01T00:00:00Z", member: "demo-1", message: noted ?? "" }];
  const done = asking(restored, task, { status: { phase: "Running", steps } });
  assert.deepEqual(ending(done).slice(0, 2), ["Succeeded", "Completed"]);
});
