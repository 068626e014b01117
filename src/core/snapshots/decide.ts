/**
 * What to do for the snapshots of a cluster, beside the steps of the cluster itself: also while it is paused, degraded or
 * without quorum, and for those whose cluster is gone. The status of a snapshot is its record: that it runs is written
 * before its Job is made, the Job's name follows from its UID, and the process in it finds what an earlier one has
 * finished, so that a controller that dies at any point leaves enough for the next one to continue.
 */
import type { EtcdSnapshotStatus } from "../../api/etcd-snapshot.ts";
import { timestamp } from "../status/condition.ts";
import { knownReason } from "../messages/snapshot-reasons.ts";
import { snapshotVerdict } from "../messages/snapshot-verdicts.ts";
import type { SnapshotEffect } from "./effect.ts";
import type { Blocked, JobFacts, SnapshotFacts } from "./facts.ts";
import { followerTurn } from "./follower.ts";
import { jobName } from "./names.ts";
import { scheduleTurn } from "./schedule.ts";
import { isFinal, isReported, statusAfter, type SnapshotVerdict } from "./status.ts";
import { awaitResult, startJob, workerNamed, type JobRequest, type Turn } from "./turn.ts";
import { firstRequest, isToBeVerified, verificationTurn } from "./verification.ts";
import type { SnapshotWorld } from "./world.ts";

export interface SnapshotDecision {
  readonly effects: readonly SnapshotEffect[];
  readonly lookAgainAt?: number;
}

/** A snapshot may be applied in one go with its cluster, in any order. */
export const AWAIT_CLUSTER_MS = 10 * 60_000;
const RETRY_DELETE_MS = 10 * 60_000;

export function decideSnapshots(world: SnapshotWorld): SnapshotDecision {
  const { now, snapshots, schedules = [], cluster } = world;
  const ranks = ranksOf(world);
  const turns = snapshots.map((snapshot) => turnOf(world, snapshot, ranks));
  const isThere = cluster.is === "present" && !cluster.deleting;
  const followed = schedules.map((schedule) => followerTurn(schedule, world));
  const planned = schedules.map((schedule, index) =>
    scheduleTurn(schedule, {
      now,
      snapshots,
      isThere,
      ...(followed[index] && { followed: followed[index] }),
    }),
  );
  const times = [
    ...turns.flatMap((turn) => (turn && "inMs" in turn ? [now + Math.max(0, turn.inMs)] : [])),
    ...[...planned, ...followed].flatMap((turn) => turn?.at ?? []),
  ];
  return {
    effects: [
      ...turns.flatMap((turn) => (turn && "effect" in turn ? [turn.effect] : [])),
      ...(world.before ? [beforeRollout(world.before)] : []),
      ...(world.point ? [{ kind: "CreatePoint", point: world.point } as const] : []),
      ...planned.flatMap(({ effect, also = [] }) => [...(effect ? [effect] : []), ...also]),
      ...followed.flatMap((turn) => turn?.effects ?? []),
    ],
    ...(times.length > 0 && { lookAgainAt: Math.min(...times) }),
  };
}

function beforeRollout({ schedule, name, minor }: NonNullable<SnapshotWorld["before"]>): SnapshotEffect {
  return { kind: "CreateSnapshotBefore", schedule, name, minor };
}

/** What is found out about all snapshots at once: to compare each with all others would take seconds with thousands of them. */
interface Ranks {
  /** Before an upgrade one is tried every hour: of those that failed, the last one says why. */
  readonly outdone: ReadonlySet<SnapshotFacts>;
  /**
   * The one that is taken first. Points in time have a row of their own: they load no member, and have to be built while
   * one that is to be taken waits for a cluster that is down.
   */
  readonly firstTaken: SnapshotFacts | undefined;
  readonly firstBuilt: SnapshotFacts | undefined;
}

function ranksOf(world: SnapshotWorld): Ranks {
  const failed = world.snapshots.filter(
    ({ before, deleting, status }) =>
      before !== undefined &&
      !deleting &&
      status.uri === undefined &&
      (status.phase === "Failed" || status.phase === "Rejected"),
  );
  const open = world.snapshots.filter((one) => !isFinal(one) && !one.deleting);
  // One that waits for the cluster to tell its version holds up no other.
  const built = open.filter((one) => isBuilt(one) && replayVersion(world, one) !== undefined);
  return {
    outdone: new Set(failed.slice(0, -1)),
    firstTaken: firstOf(open.filter((one) => !isBuilt(one))),
    firstBuilt: firstOf(built),
  };
}

function firstOf(row: readonly SnapshotFacts[]): SnapshotFacts | undefined {
  return row.find(({ status }) => status.phase === "Running") ?? row[0];
}

function isBuilt({ spec }: SnapshotFacts): boolean {
  return spec.pointInTime !== undefined;
}

function turnOf(world: SnapshotWorld, snapshot: SnapshotFacts, ranks: Ranks): Turn {
  if (snapshot.deleting) return ending(world, snapshot);
  if (ranks.outdone.has(snapshot) || world.spent?.has(snapshot.uid) === true)
    return { effect: { kind: "ForgetSnapshot", snapshot } };
  if (isFinal(snapshot)) return held(snapshot) ?? verificationTurn(world, snapshot);
  if (snapshot.status.phase === "Running") return running(world, snapshot);
  return pending(world, snapshot, aheadOf(snapshot, ranks));
}

/** The finalizer follows the policy, which may be changed at any time. */
function held(snapshot: SnapshotFacts): Turn {
  const hasObject = snapshot.status.startedAt !== undefined;
  const wanted = snapshot.spec.deletionPolicy === "Delete" && hasObject;
  if (wanted === snapshot.held) return undefined;
  return { effect: { kind: wanted ? "HoldSnapshot" : "ReleaseSnapshot", snapshot } };
}

function pending(world: SnapshotWorld, snapshot: SnapshotFacts, ahead: SnapshotFacts | undefined): Turn {
  const { cluster, now, blocked } = world;
  const { spec, createdAt } = snapshot;
  const about = { cluster: spec.cluster };
  const wait: Note = (why) => reported(world, snapshot, { phase: "Pending", ...why });
  const reject: Note = (why) => reported(world, snapshot, { phase: "Rejected", ...why });
  if (snapshot.invalid !== undefined) return reject({ reason: "InvalidSnapshot", message: snapshot.invalid });
  if (snapshot.unsupported !== undefined)
    return reject({ reason: "DestinationUnsupported", message: snapshot.unsupported });
  if (isBuilt(snapshot)) return pendingPoint(world, snapshot, { ahead, wait, reject });
  if (cluster.is === "absent") {
    const untilMs = createdAt + AWAIT_CLUSTER_MS - now;
    if (untilMs <= 0) return reject(snapshotVerdict("ClusterNotFound", about));
    const until = timestamp(createdAt + AWAIT_CLUSTER_MS);
    return wait(snapshotVerdict("ClusterAwaited", { ...about, until })) ?? { inMs: untilMs };
  }
  if (cluster.is === "invalid")
    return wait(snapshotVerdict("InvalidBeforeTaken", { ...about, why: cluster.why, point: false }));
  if (cluster.deleting) return reject(snapshotVerdict("ClusterLeaves", about));
  if (ahead) return wait(snapshotVerdict("AwaitsTurn", { ahead: ahead.name }));
  const why = notNow(blocked, cluster.sources);
  if (why) return wait(why);
  return begun(world, snapshot, { clusterUID: cluster.uid });
}

type Note = (why: Pick<SnapshotVerdict, "reason" | "message">) => Turn;

/** A point in time needs the store alone, and to know which etcd to replay with. */
function pendingPoint(
  world: SnapshotWorld,
  snapshot: SnapshotFacts,
  { ahead, wait, reject }: { ahead: SnapshotFacts | undefined; wait: Note; reject: Note },
): Turn {
  const { cluster } = snapshot.spec;
  if (replayVersion(world, snapshot) === undefined) {
    if (world.cluster.is === "invalid")
      return wait(snapshotVerdict("InvalidBeforeTaken", { cluster, why: world.cluster.why, point: true }));
    const untilMs = snapshot.createdAt + AWAIT_CLUSTER_MS - world.now;
    if (untilMs <= 0) return reject(snapshotVerdict("VersionUnknown", { cluster }));
    const until = timestamp(world.now + untilMs);
    return wait(snapshotVerdict("VersionAwaited", { cluster, until })) ?? { inMs: untilMs };
  }
  if (ahead) return wait(snapshotVerdict("AwaitsTurn", { ahead: ahead.name }));
  if (world.blocked?.reason === "ImageUnknown") return wait(world.blocked);
  return begun(world, snapshot, {});
}

function replayVersion({ cluster }: SnapshotWorld, { spec }: SnapshotFacts): string | undefined {
  return spec.pointInTime?.etcdVersion ?? (cluster.is === "present" ? cluster.version : undefined);
}

function aheadOf(snapshot: SnapshotFacts, { firstTaken, firstBuilt }: Ranks): SnapshotFacts | undefined {
  const first = isBuilt(snapshot) ? firstBuilt : firstTaken;
  return first?.uid === snapshot.uid ? undefined : first;
}

function begun(world: SnapshotWorld, snapshot: SnapshotFacts, fields: Partial<EtcdSnapshotStatus>): Turn {
  // Before anything can be in the store.
  if (snapshot.spec.deletionPolicy === "Delete" && !snapshot.held)
    return { effect: { kind: "HoldSnapshot", snapshot } };
  const job = jobName(snapshot, "save", 1);
  return reported(world, snapshot, {
    phase: "Running",
    ...snapshotVerdict("JobBegins", { job: workerNamed(world, job) }),
    fields: { ...fields, job, startedAt: timestamp(world.now) },
  });
}

function notNow(blocked: Blocked | undefined, sources: readonly string[]): Blocked | undefined {
  return sources.length === 0 ? snapshotVerdict("NoMember", {}) : blocked;
}

function running(world: SnapshotWorld, snapshot: SnapshotFacts): Turn {
  const { cluster } = world;
  const about = { cluster: snapshot.spec.cluster };
  const goesOn: Note = (why) => reported(world, snapshot, { phase: "Running", ...why });
  const failed: Note = (why) => reported(world, snapshot, { phase: "Failed", ...why });
  const job = snapshot.jobs.find(({ task }) => task === "save");
  if (job === undefined && snapshot.spec.pointInTime !== undefined) {
    if (world.blocked?.reason === "ImageUnknown") return goesOn(world.blocked);
    const etcdVersion = replayVersion(world, snapshot);
    if (etcdVersion === undefined && cluster.is === "invalid")
      return goesOn(snapshotVerdict("InvalidMeanwhile", { ...about, why: cluster.why }));
    if (etcdVersion === undefined) return failed(snapshotVerdict("VersionLost", about));
    const size = Math.max(0, ...world.snapshots.map(({ status }) => status.size ?? 0));
    return started(world, snapshot, { task: "save", attempt: 1, endpoints: [], etcdVersion, size });
  }
  if (job === undefined) {
    const uid = cluster.is === "absent" ? undefined : cluster.uid;
    if (uid !== snapshot.status.clusterUID) return failed(snapshotVerdict("ClusterGone", about));
    if (cluster.is === "invalid")
      return goesOn(snapshotVerdict("InvalidMeanwhile", { ...about, why: cluster.why }));
    const sources = cluster.is === "present" ? cluster.sources : [];
    const why = notNow(world.blocked, sources);
    if (why) return goesOn(why);
    const hashKv = isToBeVerified(world, snapshot);
    const life = cluster.is === "present" && cluster.life ? { life: cluster.life } : {};
    return started(world, snapshot, { task: "save", attempt: 1, endpoints: sources, hashKv, ...life });
  }
  // The next one is made when this one is gone.
  if (job.deleting) return undefined;
  const { state } = job;
  switch (state.is) {
    case "waiting":
      return goesOn(snapshotVerdict("JobWaits", { job: workerNamed(world, job.name), why: state.why }));
    case "running":
      return goesOn(
        snapshotVerdict("BeingTaken", { worker: workerNamed(world, state.pod), transfer: state.transfer }),
      );
    case "succeeded": {
      const { taken, agoMs } = state;
      if (taken === undefined) return unread(snapshot, job, agoMs);
      const { revision, takenFrom: from } = taken;
      const done = snapshot.spec.pointInTime
        ? snapshotVerdict("PointBuilt", { revision })
        : snapshotVerdict("Taken", { revision, from });
      const fields = { ...taken, ...firstRequest(snapshot) };
      return reported(world, snapshot, { phase: "Succeeded", ...done, fields });
    }
    case "failed":
      return (
        awaitResult(state) ??
        failed({ reason: knownReason(state.reason) ?? "JobFailed", message: state.message })
      );
  }
}

/**
 * It has succeeded, and with what is not known: its Pod is gone. Once more, then: the next process finds the snapshot
 * in the store and reports it.
 */
function unread(snapshot: SnapshotFacts, { name, uid }: JobFacts, agoMs: number): Turn {
  return (
    awaitResult({ agoMs, reported: false }) ?? { effect: { kind: "DeleteJob", snapshot, job: name, uid } }
  );
}

/** What is in the store goes first, if the policy says so; a Job that still writes there is stopped before. */
function ending(world: SnapshotWorld, snapshot: SnapshotFacts): Turn {
  const { spec, status, jobs } = snapshot;
  if (!snapshot.held) return undefined;
  if (spec.deletionPolicy !== "Delete" || status.startedAt === undefined)
    return { effect: { kind: "ReleaseSnapshot", snapshot } };
  const saving = jobs.find(({ task, state }) => task === "save" && !isOver(state));
  const note: Note = (why) => reported(world, snapshot, { phase: "Deleting", ...why });
  if (saving)
    return saving.deleting
      ? note(snapshotVerdict("JobIsStopped", { job: workerNamed(world, saving.name) }))
      : { effect: { kind: "DeleteJob", snapshot, job: saving.name, uid: saving.uid } };
  const latest = jobs
    .filter(({ task }) => task === "delete")
    .toSorted((a, b) => b.attempt - a.attempt)
    .at(0);
  const next = { task: "delete", attempt: (latest?.attempt ?? 0) + 1, endpoints: [] } as const;
  if (latest === undefined || latest.deleting) {
    // A certificate and a member are of no use here.
    if (world.blocked?.reason === "ImageUnknown") return note(world.blocked);
    return latest ? undefined : started(world, snapshot, next);
  }
  const { state } = latest;
  if (state.is === "succeeded") return { effect: { kind: "ReleaseSnapshot", snapshot } };
  if (state.is !== "failed") {
    const why = state.is === "waiting" ? state.why : undefined;
    return note(snapshotVerdict("ObjectIsDeleted", { job: workerNamed(world, latest.name), why }));
  }
  if (state.agoMs >= RETRY_DELETE_MS) return started(world, snapshot, next);
  return (
    note(snapshotVerdict("ObjectNotDeleted", { why: state.message })) ?? {
      inMs: RETRY_DELETE_MS - state.agoMs,
    }
  );
}

function isOver({ is }: JobFacts["state"]): boolean {
  return is === "succeeded" || is === "failed";
}

function started(world: SnapshotWorld, snapshot: SnapshotFacts, job: JobRequest): Turn {
  const phase = job.task === "save" ? "Running" : "Deleting";
  return startJob(world, snapshot, job, (why) =>
    reported(world, snapshot, { phase, ...snapshotVerdict("JobRefused", why) }),
  );
}

/** Nothing where the status says it already. */
function reported(world: SnapshotWorld, snapshot: SnapshotFacts, verdict: SnapshotVerdict): Turn {
  if (isReported(snapshot, verdict)) return undefined;
  const status = statusAfter(snapshot, verdict, world.now);
  return { effect: { kind: "UpdateSnapshot", snapshot, status } };
}
