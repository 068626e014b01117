/**
 * What to do for schedules of snapshots: make the EtcdSnapshot that is due, under a name that follows from its time, so
 * that it is never made twice; delete what the retention does not keep, never the newest one that succeeded or was found
 * right and only what the schedule itself made; and report. What was missed comes down to the last one.
 */
import type { EtcdSnapshotScheduleStatus } from "../../api/etcd-snapshot-schedule.ts";
import { sameContent } from "../template/hash.ts";
import type { ScheduleReason } from "../messages/schedule-reasons.ts";
import { INVALID_FIELDS, scheduleVerdict } from "../messages/schedule-verdicts.ts";
import { condition, findCondition, no, sentence, timestamp, yes } from "../status/condition.ts";
import { lastTime, nextTime } from "./cron-times.ts";
import { CronError, parseCron, type Cron } from "./cron.ts";
import type { SnapshotEffect } from "./effect.ts";
import type { ScheduleFacts, SnapshotFacts } from "./facts.ts";
import type { FollowerTurn } from "./follower.ts";
import { keepReasons, type Retention } from "./retention.ts";
import {
  lastProven,
  lastVerified,
  failedVerification,
  verificationDue,
  type FailedVerification,
} from "./schedule-verification.ts";
import { isFinal } from "./status.ts";
import { isZone } from "./zone.ts";

/** One effect for each schedule at most, and when there is more to do. */
export interface ScheduleTurn {
  readonly effect?: SnapshotEffect;
  /** Beside it, while a snapshot cannot be created: what does not depend on it goes on. */
  readonly also?: readonly SnapshotEffect[];
  readonly at?: number;
}

interface Around {
  readonly now: number;
  readonly snapshots: readonly SnapshotFacts[];
  readonly isThere: boolean;
  /** How its changes are recorded; absent where it does not ask for that. */
  readonly followed?: FollowerTurn;
}

/** Failed ones are kept for whoever wants to know why. */
const KEEP_FAILED = 3;
/** After the time of a second run that was missed, so that one that takes long is no alarm. */
const GRACE_MS = 10 * 60_000;
/** Beside the times of the schedule: where compaction outruns the follower, more snapshots would not help. */
const BASE_EVERY_MS = 5 * 60_000;
const BASE_LONGEST_MS = 60 * 60_000;
/** Bases that are further apart have nothing to do with each other. */
const BASES_APART_MS = 2 * BASE_LONGEST_MS;
/** Without a retention: what a follower needs again and again must not fill the store. */
const KEEP_BASES = 24;

/** Those that it made. */
export function snapshotsOf(schedule: ScheduleFacts, snapshots: readonly SnapshotFacts[]): SnapshotFacts[] {
  return snapshots.filter(({ schedule: uid }) => uid === schedule.uid);
}

/** As Kubernetes names the Jobs of a CronJob; one that is taken for the follower to begin with ends with `-b`. */
export function scheduledName({ name }: Pick<ScheduleFacts, "name">, at: number, base = false): string {
  return `${name}-${Math.floor(at / 60_000)}${base ? BASE : ""}`;
}

const BASE = "-b";

function isBase({ name }: SnapshotFacts): boolean {
  return name.endsWith(BASE);
}

export function scheduleTurn(schedule: ScheduleFacts, around: Around): ScheduleTurn {
  const { now, followed } = around;
  if (schedule.deleting) return {};
  const own = snapshotsOf(schedule, around.snapshots);
  const when = schedule.invalid ?? clockOf(schedule);
  if (typeof when === "string")
    return reported(schedule, own, around, { reason: "InvalidSchedule", message: when });
  const { spec, status } = schedule;
  if (spec.suspend) return reported(schedule, own, around, scheduleVerdict("Suspended", {}));
  if (!around.isThere) {
    const missing = scheduleVerdict("ClusterNotFound", { cluster: spec.cluster });
    return reported(schedule, own, around, missing);
  }
  const { cron, zone, verify } = when;
  const last = Math.max(schedule.createdAt, Date.parse(status.lastScheduled ?? "") || 0);
  const due = lastTime(cron, zone, last, now);
  const next = nextTime(cron, zone, now);
  const active = own.find((one) => !isFinal(one) && !one.deleting);
  const gone = pruned(schedule, own)[0];
  const prune =
    gone && ({ kind: "PruneSnapshot", snapshot: gone, keeping: keptFor(schedule, gone, own) } as const);
  const taken = (at: number, asBase = false): ScheduleTurn => {
    const create = { kind: "CreateSnapshot", schedule, at, ...(asBase && { base: true }) } as const;
    if (schedule.failure === undefined) return { effect: create, at: next };
    const snapshot = scheduledName(schedule, at, asBase);
    const refused = scheduleVerdict("SnapshotRefused", { snapshot, why: schedule.failure });
    const turn = reported(schedule, own, around, { ...refused, next });
    // Deleting old ones may be what a quota waits for.
    return { ...turn, also: [...(prune ? [prune] : []), create] };
  };
  if (due !== undefined) {
    const made = own.find(({ name }) => name === scheduledName(schedule, due));
    const late = now - due > (spec.startingDeadlineSeconds ?? Infinity) * 1_000;
    if (made || late) {
      const verdict = late
        ? scheduleVerdict("LeftOut", { at: timestamp(due) })
        : scheduleVerdict("Created", { snapshot: made?.name });
      return reported(schedule, own, around, {
        ...verdict,
        next,
        fields: { lastScheduled: timestamp(due) },
      });
    }
    // One at a time: it is made as soon as the one before has ended.
    if (!active) return taken(due);
  }
  const base = followed?.needsBase && !active ? baseDue(own, now) : undefined;
  if (base !== undefined && base <= now) return taken(Math.floor(now / 60_000) * 60_000, true);
  if (prune) return { effect: prune, at: Math.min(next, base ?? next) };
  const verification = verificationDue(schedule, verify && { cron: verify, zone }, good(own).at(-1), now);
  const first = Math.min(next, verification.at ?? next, base ?? next);
  if (verification.effect) return { effect: verification.effect, at: first };
  const reason = status.reason === "Missed" && !active ? "Missed" : "Scheduled";
  const { message } = active
    ? scheduleVerdict("Taking", { snapshot: active.name })
    : reason === "Missed"
      ? // What was left out stays as it was said.
        { message: status.message ?? scheduleVerdict("LeftOut", { at: status.lastScheduled ?? "" }).message }
      : scheduleVerdict("NextIsDue", { at: timestamp(next) });
  return {
    ...reported(schedule, own, around, { reason, message, next, fields: verification.fields }),
    at: first,
  };
}

/** When a snapshot may be taken for the follower to begin with: each time after twice as long as the last time. */
function baseDue(own: readonly SnapshotFacts[], now: number): number {
  const last = Math.max(...own.map(({ createdAt }) => createdAt), Number.NEGATIVE_INFINITY);
  const [newest, previous] = newestBases(own);
  const apart = newest && previous ? newest.createdAt - previous.createdAt : Infinity;
  const pauseMs =
    apart > BASES_APART_MS ? BASE_EVERY_MS : Math.min(BASE_LONGEST_MS, Math.max(BASE_EVERY_MS, 2 * apart));
  return Math.max(now, last + BASE_EVERY_MS, (newest?.createdAt ?? last) + pauseMs);
}

function newestBases(own: readonly SnapshotFacts[]): SnapshotFacts[] {
  return own.filter(isBase).toSorted((a, b) => b.createdAt - a.createdAt);
}

interface ScheduleClock {
  readonly cron: Cron;
  readonly zone: string;
  /** When snapshots are verified. */
  readonly verify?: Cron;
}

function clockOf({ spec }: ScheduleFacts): ScheduleClock | string {
  const zone = spec.timeZone ?? "UTC";
  if (!isZone(zone)) return INVALID_FIELDS.zone(zone);
  const cron = cronOf(spec.schedule, "spec.schedule");
  const verify = spec.verify && cronOf(spec.verify.schedule, "spec.verify.schedule");
  if (typeof cron === "string") return cron;
  if (typeof verify === "string") return verify;
  return { cron, zone, ...(verify && { verify }) };
}

function cronOf(text: string, field: string): Cron | string {
  try {
    return parseCron(text);
  } catch (error) {
    if (!(error instanceof CronError)) throw error;
    return INVALID_FIELDS.cron(field, error.message);
  }
}

/** Those in the store, newest last. */
function good(own: readonly SnapshotFacts[]): SnapshotFacts[] {
  return own
    .filter(({ status, deleting }) => status.phase === "Succeeded" && !deleting)
    .toSorted((a, b) => startOf(a) - startOf(b));
}

function startOf({ status, createdAt }: SnapshotFacts): number {
  return Date.parse(status.startedAt ?? "") || createdAt;
}

/** Where snapshots are verified, the last one that is known to be right stays until a newer one is. */
function provenOf({ spec }: ScheduleFacts, own: readonly SnapshotFacts[]): SnapshotFacts | undefined {
  return spec.verify && lastProven(good(own));
}

/** What has to be there still when this one goes: for one that was found right, another one that was. */
function keptFor(
  schedule: ScheduleFacts,
  { status }: SnapshotFacts,
  own: readonly SnapshotFacts[],
): SnapshotFacts | undefined {
  const proven = status.verifiedAt === undefined ? undefined : provenOf(schedule, own);
  return proven ?? good(own).at(-1);
}

/**
 * What the retention does not keep, oldest first. Those of the schedule's times and those that were taken for the follower
 * are judged apart, so that neither uses up what is kept of the other. Without a retention only what was taken for the
 * follower goes, and the last of that stay.
 */
export function pruned(schedule: ScheduleFacts, own: readonly SnapshotFacts[]): SnapshotFacts[] {
  const { retention } = schedule.spec;
  const stored = good(own);
  const timed = stored.filter((one) => !isBase(one));
  const bases = stored.filter(isBase);
  const policy: Retention = { ...NONE, ...(retention ?? { keepLast: KEEP_BASES }) };
  const kept = new Set(retention === undefined ? timed : keptBy(policy, timed));
  const oldest =
    retention === undefined || kept.size === 0
      ? Number.NEGATIVE_INFINITY
      : Math.min(...[...kept].map(startOf));
  for (const base of [...keptBy(policy, bases), ...lastPair(own)])
    // Before the oldest of the others nothing is to be restored, and the changes from there on would be kept for it.
    if (startOf(base) >= oldest) kept.add(base);
  const always = [provenOf(schedule, own), stored.at(-1)];
  return [
    ...failedBefore(own.filter((one) => isBase(one) || retention !== undefined)),
    ...stored.filter((one) => !kept.has(one) && !always.includes(one)),
  ];
}

function keptBy(policy: Retention, snapshots: readonly SnapshotFacts[]): SnapshotFacts[] {
  const items = snapshots.map((snapshot) => ({ snapshot, at: startOf(snapshot), name: snapshot.name }));
  return keepReasons(items, policy).flatMap(({ item, keep }) => (keep.length > 0 ? [item.snapshot] : []));
}

/** How far apart they are determines when the next one may be taken. */
function lastPair(own: readonly SnapshotFacts[]): SnapshotFacts[] {
  const [newest, previous] = newestBases(own);
  return newest && previous && newest.createdAt - previous.createdAt <= BASES_APART_MS ? [previous] : [];
}

/** All but the last ones that failed, of each kind. */
function failedBefore(own: readonly SnapshotFacts[]): SnapshotFacts[] {
  const failed = own
    .filter(({ status, deleting }) => !deleting && (status.phase === "Failed" || status.phase === "Rejected"))
    .toSorted((a, b) => startOf(a) - startOf(b));
  return [failed.filter((one) => !isBase(one)), failed.filter(isBase)].flatMap((kind) =>
    kind.slice(0, Math.max(0, kind.length - KEEP_FAILED)),
  );
}

const NONE: Retention = { keepLast: 0, hourly: 0, daily: 0, weekly: 0, monthly: 0, yearly: 0 };

/** Whether its newest good snapshot is as new as the schedule promises. */
export type Freshness =
  | { readonly is: "fresh"; readonly snapshot: string; readonly at: number }
  | { readonly is: "old"; readonly snapshot: string; readonly at: number; readonly failed?: string }
  | { readonly is: "none"; readonly failed?: string }
  /** The last of its snapshots that was to be verified is damaged, or could not be verified. */
  | ({ readonly is: "unverified" } & FailedVerification)
  | { readonly is: "first" }
  | { readonly is: "suspended" }
  | { readonly is: "invalid" };

export function freshnessOf(
  schedule: ScheduleFacts,
  snapshots: readonly SnapshotFacts[],
  now: number,
): Freshness {
  const when = schedule.invalid ?? clockOf(schedule);
  if (typeof when === "string") return { is: "invalid" };
  if (schedule.spec.suspend) return { is: "suspended" };
  const own = snapshotsOf(schedule, snapshots);
  const wrong = failedVerification(own);
  if (wrong) return { is: "unverified", ...wrong };
  const newest = good(own).at(-1);
  const latest = own.filter(isFinal).toSorted((a, b) => startOf(b) - startOf(a))[0];
  const failed =
    latest && latest.status.phase !== "Succeeded" ? (latest.status.message ?? "unknown") : undefined;
  const since = newest ? startOf(newest) : schedule.createdAt;
  const first = nextTime(when.cron, when.zone, since);
  const late = now > nextTime(when.cron, when.zone, first) + GRACE_MS;
  const why = failed === undefined ? {} : { failed };
  if (newest === undefined) return late || failed !== undefined ? { is: "none", ...why } : { is: "first" };
  const { name } = newest;
  return late ? { is: "old", snapshot: name, at: since, ...why } : { is: "fresh", snapshot: name, at: since };
}

interface Report {
  readonly reason: ScheduleReason;
  readonly message: string;
  readonly next?: number;
  readonly fields?: Partial<EtcdSnapshotScheduleStatus>;
}

function reported(
  schedule: ScheduleFacts,
  own: readonly SnapshotFacts[],
  { now, followed }: Around,
  { reason, message: fragment, next, fields }: Report,
): ScheduleTurn {
  const { status: before, generation } = schedule;
  const stored = good(own);
  const [newest, previous] = [stored.at(-1), stored.at(-2)];
  const active = own.find((one) => !isFinal(one) && !one.deleting);
  const message = sentence(fragment).slice(0, 1024);
  const stalls = reason === "InvalidSchedule";
  const waits = reason === "ClusterNotFound" || reason === "SnapshotRefused";
  const verdicts = {
    Ready: stalls || waits ? no(reason, message) : yes(reason, message),
    Reconciling: waits ? yes(reason, message) : no(reason, message),
    Stalled: stalls ? yes(reason, message) : no(reason, message),
    ...(followed?.verdict && { Following: followed.verdict }),
  };
  const after: EtcdSnapshotScheduleStatus = {
    observedGeneration: generation,
    reason,
    message,
    ...(before.lastScheduled !== undefined && { lastScheduled: before.lastScheduled }),
    ...(newest && { lastSuccessful: timestamp(startOf(newest)), lastSnapshot: newest.name }),
    ...(next !== undefined && { next: timestamp(next) }),
    ...(newest && previous && { rpo: inWords(startOf(newest) - startOf(previous)) }),
    ...lastVerified(own),
    ...(before.lastVerificationScheduled !== undefined && {
      lastVerificationScheduled: before.lastVerificationScheduled,
    }),
    ...(active && { active: active.name }),
    kept: stored.length,
    ...(followed?.status && { incremental: followed.status }),
    ...fields,
    conditions: Object.entries(verdicts).map(([type, verdict]) =>
      condition(type, verdict, findCondition(before.conditions, type), { now, generation }),
    ),
  };
  const at = next === undefined ? {} : { at: next };
  if (isSameReport(before, after)) return at;
  return { effect: { kind: "UpdateSchedule", schedule, status: after }, ...at };
}

const COMPARED = [
  "observedGeneration",
  "reason",
  "message",
  "lastScheduled",
  "lastSuccessful",
  "lastSnapshot",
  "next",
  "rpo",
  "lastVerified",
  "lastVerifiedSnapshot",
  "rto",
  "lastVerificationScheduled",
  "nextVerification",
  "active",
  "kept",
] as const satisfies (keyof EtcdSnapshotScheduleStatus)[];

function isSameReport(a: EtcdSnapshotScheduleStatus, b: EtcdSnapshotScheduleStatus): boolean {
  return COMPARED.every((field) => a[field] === b[field]) && sameContent(a.incremental, b.incremental);
}

/** `24h0m0s`, as Kubernetes writes durations. */
function inWords(ms: number): string {
  const seconds = Math.round(ms / 1_000);
  const [hours, minutes] = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60];
  return `${hours}h${minutes}m${seconds % 60}s`;
}
