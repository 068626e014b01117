/**
 * What to do for a schedule that records changes: one follower for each, made from what the schedule and the membership
 * say, replaced when that changes, and stopped with a suspended schedule or a hibernated cluster. A follower that is
 * started again continues where the log ends, and two of them do no harm, so nothing here has to be exact.
 */
import { millisecondsOf } from "../../api/duration.ts";
import type { RecordedChanges } from "../../api/etcd-snapshot-schedule.ts";
import { CHANGES_INTERVAL } from "../../api/intervals.ts";
import { doubledMs, type Backoff } from "../../seams/backoff.ts";
import { canonical, shortHash } from "../template/hash.ts";
import type { FollowerReason } from "../messages/follower-reasons.ts";
import { followerVerdict } from "../messages/schedule-verdicts.ts";
import type { Verdict as Said } from "../messages/verdict.ts";
import { no, sentence, timestamp, yes, type Verdict } from "../status/condition.ts";
import type { SnapshotEffect } from "./effect.ts";
import type { ScheduleFacts } from "./facts.ts";
import type { FollowerFacts, FollowReport } from "./follower-facts.ts";
import { followerName } from "./names.ts";
import { workerNamed } from "./turn.ts";
import type { SnapshotWorld } from "./world.ts";

export interface FollowerTurn {
  readonly effects: readonly SnapshotEffect[];
  readonly status?: RecordedChanges;
  /** The condition Following. */
  readonly verdict?: Verdict;
  /** It cannot go on without a new snapshot. */
  readonly needsBase?: boolean;
  readonly at?: number;
}

type Report = Said<FollowerReason>;

/** One that does not stop within this time, such as on a node that is gone, is not waited for. */
const STOPS_WITHIN_MS = 60_000;
const LOOK_EVERY_MS = 10_000;
const BEHIND_LEAST_MS = 120_000;
/** How often the status follows the log. */
const REPORT_MOST_MS = 60_000;
const REPORT_UNCHANGED_MOST_MS = 300_000;

export function followerTurn(schedule: ScheduleFacts, world: SnapshotWorld): FollowerTurn | undefined {
  const { spec, followers = [] } = schedule;
  const live = followers.filter(({ stoppingMs }) => stoppingMs === undefined);
  const stop = (those: readonly FollowerFacts[]) =>
    those.map(({ name, uid }) => ({ kind: "StopFollower", schedule, follower: name, uid }) as const);
  if (spec.incremental === undefined || schedule.deleting)
    return live.length === 0 ? undefined : { effects: stop(live) };
  const over = whyEnded(schedule, world);
  if (over !== undefined) return { effects: stop(live), ...reported(schedule, over) };
  const endpoints = endpointsIn(world);
  const recipe = recipeOf(schedule, world);
  const usable = live.filter((one) => one.recipe === recipe && one.state.is !== "ended");
  const current = usable.toSorted((a, b) => a.attempt - b.attempt).at(-1);
  if (current)
    return {
      effects: stop(live.filter((one) => one !== current)),
      ...following(schedule, world, current),
    };
  // One that has ended stays until the next one is made: it shows how often that was.
  const ended = live.filter(({ state }) => state.is === "ended");
  const running = live.filter((one) => !ended.includes(one));
  const effects: SnapshotEffect[] = stop(running);
  const blocked = whyBlocked(world);
  // What runs with an earlier recipe is better than nothing.
  if (blocked !== undefined) return { effects: [], ...reported(schedule, blocked) };
  const waitMs = Math.max(0, ...followers.map(({ stoppingMs = 0 }) => STOPS_WITHIN_MS - stoppingMs));
  const isFree = running.length === 0 && (followers.length === ended.length || waitMs === 0);
  const attempt = 1 + Math.max(0, ...followers.map((one) => one.attempt));
  const follower = workerNamed(world, followerName(schedule, attempt));
  if (!isFree)
    return {
      effects,
      ...reported(schedule, followerVerdict("FormerStops", {})),
      at: world.now + Math.max(1_000, waitMs),
    };
  const pause = pauseAfter(ended);
  if (pause) {
    const at = world.now + pause.leftMs;
    const paused = followerVerdict("FollowerEnded", { why: pause.why, at: timestamp(at) });
    return { effects, ...reported(schedule, paused), at };
  }
  const failure = schedule.followerFailure;
  return {
    effects: [{ kind: "StartFollower", schedule, attempt, recipe, endpoints }],
    ...reported(
      schedule,
      failure === undefined
        ? followerVerdict("FollowerBegins", { follower })
        : followerVerdict("FollowerRefused", { follower, why: failure }),
    ),
  };
}

const PAUSES: Backoff = { firstMs: 10_000, longestMs: 300_000 };
/** One that ran so long did not end by what ended the one before. */
const RAN_WELL_MS = 600_000;

/** One that ends at once is made again after a pause that grows with its attempts. */
function pauseAfter(ended: readonly FollowerFacts[]): { leftMs: number; why: string } | undefined {
  const last = ended.toSorted((a, b) => a.attempt - b.attempt).at(-1);
  if (last?.state.is !== "ended") return undefined;
  const { why, forMs, ranMs = 0 } = last.state;
  const failures = ranMs >= RAN_WELL_MS ? 1 : last.attempt;
  const pauseMs = doubledMs(failures, PAUSES);
  const leftMs = pauseMs - (forMs ?? pauseMs);
  return leftMs > 0 ? { leftMs, why } : undefined;
}

function whyEnded({ spec, invalid }: ScheduleFacts, { cluster }: SnapshotWorld): Report | undefined {
  const about = { cluster: spec.cluster };
  if (invalid !== undefined) return followerVerdict("ScheduleInvalid", {});
  if (spec.suspend) return followerVerdict("RecordingSuspended", {});
  if (cluster.is === "absent") return followerVerdict("NoCluster", about);
  if (cluster.is === "invalid") return undefined;
  if (cluster.deleting) return followerVerdict("ClusterLeaves", about);
  return cluster.hibernated ? followerVerdict("ClusterSleeps", about) : undefined;
}

function whyBlocked(world: SnapshotWorld): Report | undefined {
  const { blocked, cluster } = world;
  if (cluster.is === "invalid") return followerVerdict("ClusterInvalid", { why: cluster.why });
  if (blocked) return followerVerdict("FollowerBlocked", { why: blocked.message });
  return endpointsIn(world).length === 0 ? followerVerdict("NoEndpoint", {}) : undefined;
}

function endpointsIn({ cluster }: SnapshotWorld): readonly string[] {
  return cluster.is === "present" ? (cluster.endpoints ?? []) : [];
}

function recipeOf({ spec }: ScheduleFacts, world: SnapshotWorld): string {
  const { destination, compression, encryption, serviceAccountName, incremental } = spec;
  return shortHash(
    canonical({
      destination,
      compression,
      encryption,
      serviceAccountName,
      incremental,
      endpoints: endpointsIn(world),
      followsWith: world.followsWith,
    }),
  );
}

function following(
  schedule: ScheduleFacts,
  world: SnapshotWorld,
  current: FollowerFacts,
): Omit<FollowerTurn, "effects"> {
  const { now } = world;
  const { name, state } = current;
  const interval = millisecondsOf(schedule.spec.incremental?.interval ?? CHANGES_INTERVAL);
  const follower = workerNamed(world, name);
  const at = now + Math.max(LOOK_EVERY_MS, interval);
  const note = (verdict: Report, report?: FollowReport) => ({
    ...reported(schedule, verdict, name, report),
    at,
  });
  if (state.is !== "running") {
    const { why } = state;
    return why === undefined
      ? note(followerVerdict("FollowerStarts", { follower }))
      : note(followerVerdict("FollowerWaits", { why }));
  }
  const { report } = state;
  const { incremental: before } = schedule.status;
  if (report?.state === "awaits-base") {
    const awaited = followerVerdict("BaseAwaited", { needs: report.needs ?? "none" });
    return { ...note(awaited, report), needsBase: true };
  }
  // One that was started again begins to report where the last segment ends.
  const known = Math.max(...[report?.time, before?.time].map((time) => Date.parse(time ?? "") || 0));
  if (known === 0 && report === undefined && (state.forMs ?? 0) > BEHIND_LEAST_MS)
    return note(followerVerdict("FollowerSilent", { follower }));
  if (known === 0) return note(followerVerdict("FollowerStarts", { follower }), report);
  if (now - known > behindAfter(interval)) {
    const since = timestamp(known);
    const seen = { follower, since, answers: report !== undefined, problem: report?.problem };
    return note(followerVerdict("NothingRecorded", seen), report);
  }
  return note(followerVerdict("FollowerRecords", { follower }), report);
}

function behindAfter(interval: number): number {
  return Math.max(BEHIND_LEAST_MS, 4 * interval);
}

/** `report`: how far the log is, if it is known. */
function reported(
  schedule: ScheduleFacts,
  { reason, message: fragment }: Report,
  follower?: string,
  report?: FollowReport,
): Pick<FollowerTurn, "status" | "verdict"> {
  const before = schedule.status.incremental;
  const message = sentence(fragment).slice(0, 1024);
  const position = positionAfter(schedule, reason, report);
  const status: RecordedChanges = {
    reason,
    message,
    ...(follower !== undefined && { follower }),
    ...(position ?? kept(before)),
  };
  return { status, verdict: reason === "Following" ? yes(reason, message) : no(reason, message) };
}

function kept(before: RecordedChanges | undefined): Partial<RecordedChanges> {
  const { revision, time, clusterID } = before ?? {};
  return {
    ...(revision !== undefined && { revision }),
    ...(time !== undefined && { time }),
    ...(clusterID !== undefined && { clusterID }),
  };
}

/** What the status is to say of it; undefined for what it says already, since every word of it is a write. */
function positionAfter(
  { status: { incremental: before }, spec }: ScheduleFacts,
  reason: FollowerReason,
  report: FollowReport | undefined,
): Partial<RecordedChanges> | undefined {
  if (report?.time === undefined || report.revision === undefined) return undefined;
  const { revision, clusterID } = report;
  const reached = Date.parse(report.time);
  const was = Date.parse(before?.time ?? "") || 0;
  const isOther = clusterID !== undefined && clusterID !== before?.clusterID;
  // One that was started again begins to report where the last segment ends.
  if (reached <= was && !isOther) return undefined;
  const interval = millisecondsOf(spec.incremental?.interval ?? CHANGES_INTERVAL);
  const sparing =
    revision === before?.revision
      ? // So that one that was reported last is not behind before the follower reports again.
        Math.min(REPORT_UNCHANGED_MOST_MS, behindAfter(interval) / 2)
      : Math.max(LOOK_EVERY_MS, Math.min(REPORT_MOST_MS, 2 * interval));
  if (!isOther && reason === before?.reason && reached - was < sparing) return undefined;
  return { revision, time: timestamp(reached), ...(clusterID !== undefined && { clusterID }) };
}
