/**
 * The condition BackedUp: whether the newest snapshot of a schedule is as new as that schedule promises, and the last one
 * that was verified was right. It exists only where a schedule names the cluster; one schedule in time is enough.
 */
import { conditionVerdict as said } from "../messages/condition-verdicts.ts";
import { freshnessOf, type Freshness } from "../snapshots/schedule.ts";
import type { View } from "../view.ts";
import { isFalse, isTrue, isUnknown, timestamp, type Verdict } from "./condition.ts";

export function backedUp({ observation, now }: View): Verdict | undefined {
  const { snapshots = [], schedules = [] } = observation.snapshots ?? {};
  const found = schedules
    .filter(({ deleting }) => !deleting)
    .map((schedule) => ({ name: schedule.name, ...freshnessOf(schedule, snapshots, now) }));
  const of = <Is extends Freshness["is"]>(is: Is) =>
    found.find((one): one is Extract<(typeof found)[number], { is: Is }> => one.is === is);
  const fresh = of("fresh");
  if (fresh) return isTrue(said("SnapshotInTime", taken(fresh)));
  const unverified = of("unverified");
  if (unverified) {
    const { name: schedule, snapshot, at, message: why } = unverified;
    return isFalse(said("SnapshotNotVerified", { schedule, snapshot, at, why }));
  }
  const old = of("old");
  if (old) return isFalse(said("SnapshotTooOld", { ...taken(old), failed: old.failed }));
  const none = of("none");
  if (none) return isFalse(said("NoSnapshot", { schedule: none.name, failed: none.failed }));
  const first = of("first");
  if (first) return isUnknown(said("FirstSnapshotPending", { schedule: first.name }));
  const invalid = of("invalid");
  if (invalid) return isFalse(said("ScheduleUnreadable", { schedule: invalid.name }));
  const suspended = of("suspended");
  return suspended && isUnknown(said("ScheduleSuspended", { schedule: suspended.name }));
}

function taken({ name: schedule, snapshot, at }: { name: string; snapshot: string; at: number }) {
  return { schedule, snapshot, at: timestamp(at) };
}
