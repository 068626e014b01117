/** Which snapshot of a schedule is to be verified now, and what its verifications have found. */
import type { EtcdSnapshotScheduleStatus } from "../../api/etcd-snapshot-schedule.ts";
import { timestamp } from "../status/condition.ts";
import { lastTime, nextTime } from "./cron-times.ts";
import type { Cron } from "./cron.ts";
import type { SnapshotEffect } from "./effect.ts";
import type { ScheduleFacts, SnapshotFacts } from "./facts.ts";

export interface VerificationDue {
  /** The newest good snapshot is to be asked for it. */
  readonly effect?: SnapshotEffect;
  /** What the status of the schedule says of it. */
  readonly fields: Pick<EtcdSnapshotScheduleStatus, "lastVerificationScheduled" | "nextVerification">;
  readonly at?: number;
}

/** A time that passes without a good snapshot is acted on as soon as there is one. */
export function verificationDue(
  { createdAt, status }: ScheduleFacts,
  clock: { readonly cron: Cron; readonly zone: string } | undefined,
  newest: SnapshotFacts | undefined,
  now: number,
): VerificationDue {
  const { lastVerificationScheduled: before } = status;
  const kept = before === undefined ? {} : { lastVerificationScheduled: before };
  if (clock === undefined) return { fields: kept };
  const { cron, zone } = clock;
  const at = nextTime(cron, zone, now);
  const next = { nextVerification: timestamp(at) };
  const due = lastTime(cron, zone, Math.max(createdAt, Date.parse(before ?? "") || 0), now);
  if (due === undefined || newest === undefined) return { fields: { ...kept, ...next }, at };
  const request = timestamp(due);
  if (newest.verifyRequest === request)
    return { fields: { lastVerificationScheduled: request, ...next }, at };
  return {
    effect: { kind: "RequestVerification", snapshot: newest, request },
    fields: { ...kept, ...next },
    at,
  };
}

/** The newest one that was found right. */
export function lastVerified(
  own: readonly SnapshotFacts[],
): Pick<EtcdSnapshotScheduleStatus, "lastVerified" | "lastVerifiedSnapshot" | "rto"> {
  const [found] = own
    .filter(({ status, deleting }) => status.verifiedAt !== undefined && !deleting)
    .toSorted((a, b) => timeOf(b.status.verifiedAt) - timeOf(a.status.verifiedAt));
  if (found?.status.verifiedAt === undefined) return {};
  const { verifiedAt, rto } = found.status;
  return {
    lastVerified: verifiedAt,
    lastVerifiedSnapshot: found.name,
    ...(rto !== undefined && { rto }),
  };
}

/**
 * The newest of those in the store that was found right, as far as is known now: newer ones may turn out to be damaged.
 * One whose last verification could not be carried out counts only where there is no other. `stored`: newest last.
 */
export function lastProven(stored: readonly SnapshotFacts[]): SnapshotFacts | undefined {
  const proven = stored.filter(({ status }) => status.verifiedAt !== undefined);
  return proven.findLast(({ status }) => status.verification?.phase !== "Failed") ?? proven.at(-1);
}

export interface FailedVerification {
  readonly snapshot: string;
  readonly at: string;
  readonly message: string;
}

/** The last verification of any of them, if it failed; a later one that succeeds takes it back. */
export function failedVerification(own: readonly SnapshotFacts[]): FailedVerification | undefined {
  const [last] = own
    .filter(({ status, deleting }) => status.verification?.completedAt !== undefined && !deleting)
    .toSorted(
      (a, b) =>
        timeOf(b.status.verification?.completedAt) - timeOf(a.status.verification?.completedAt) ||
        // Within one second, what is wrong counts.
        (a.status.verification?.phase === "Failed" ? -1 : 1),
    );
  const found = last?.status.verification;
  if (last === undefined || found?.phase !== "Failed") return undefined;
  return { snapshot: last.name, at: found.completedAt ?? "", message: found.message };
}

function timeOf(text: string | undefined): number {
  return Date.parse(text ?? "") || 0;
}
