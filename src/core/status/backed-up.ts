/**
 * The condition BackedUp: whether the newest snapshot of a schedule is as new as that schedule promises, and the last one
 * that was verified was right. It exists only where a schedule names the cluster; one schedule in time is enough.
 */
import { freshnessOf, type Freshness } from "../snapshots/schedule.ts";
import type { View } from "../view.ts";
import { no, timestamp, unknown, yes, type Verdict } from "./condition.ts";

export function backedUp({ observation, now }: View): Verdict | undefined {
  const { snapshots = [], schedules = [] } = observation.snapshots ?? {};
  const found = schedules
    .filter(({ deleting }) => !deleting)
    .map((schedule) => ({ name: schedule.name, ...freshnessOf(schedule, snapshots, now) }));
  const of = <Is extends Freshness["is"]>(is: Is) =>
    found.find((one): one is Extract<(typeof found)[number], { is: Is }> => one.is === is);
  const fresh = of("fresh");
  if (fresh)
    return yes(
      "SnapshotInTime",
      `${fresh.snapshot} was taken at ${timestamp(fresh.at)} by schedule ${fresh.name}`,
    );
  const unverified = of("unverified");
  if (unverified)
    return no(
      "VerificationFailed",
      `the verification of ${unverified.snapshot} of schedule ${unverified.name} failed at ${unverified.at}: ${unverified.message}`,
    );
  const why = (failed: string | undefined) =>
    failed === undefined ? "" : `; the last one failed: ${failed}`;
  const old = of("old");
  if (old)
    return no(
      "SnapshotTooOld",
      `schedule ${old.name} has missed two times in a row; the newest snapshot is ${old.snapshot} of ${timestamp(old.at)}${why(old.failed)}`,
    );
  const none = of("none");
  if (none)
    return no("NoSnapshot", `schedule ${none.name} has no snapshot that succeeded${why(none.failed)}`);
  const first = of("first");
  if (first) return unknown("FirstSnapshotPending", `schedule ${first.name} has not been due yet`);
  const invalid = of("invalid");
  if (invalid) return no("InvalidSchedule", `schedule ${invalid.name} cannot be read; see its status`);
  const suspended = of("suspended");
  return suspended && unknown("Suspended", `schedule ${suspended.name} is suspended`);
}
