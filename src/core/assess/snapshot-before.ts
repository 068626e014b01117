/**
 * The snapshot that is taken before members are moved to another minor version: an upgrade cannot be taken back once the
 * cluster has agreed on it, but by a restore. It goes to the destination of the cluster's schedule; without one there is
 * no place for it, and the upgrade does not wait. One that cannot be understood is not none: the upgrade waits for a word.
 * `targetOf` asks here, and all templates of another minor come from it.
 */
import type { ScheduleFacts, SnapshotFacts, UnreadableSchedule } from "../snapshots/facts.ts";
import { isFinal } from "../snapshots/status.ts";
import { minorNumber, minorOf } from "../version/version.ts";
import type { View } from "../view.ts";
import { downgradeTarget } from "./downgrade-target.ts";

/** A snapshot that is older says too little of the data that is upgraded; a failed one is tried again after this. */
const FRESH_MS = 3_600_000;

export type SnapshotBefore =
  | { readonly is: "unneeded" }
  /** To be created, with what the schedule says about how and where. */
  | { readonly is: "wanted"; readonly name: string; readonly schedule: ScheduleFacts; readonly minor: string }
  | { readonly is: "running"; readonly snapshot: SnapshotFacts }
  | { readonly is: "failed"; readonly snapshot: SnapshotFacts; readonly againAt: number }
  /** Snapshots are asked for, and nobody can tell where to. */
  | { readonly is: "unreadable"; readonly schedule: UnreadableSchedule };

/** What members wait for. */
export type AwaitedSnapshot = Exclude<SnapshotBefore, { is: "unneeded" }>;

const UNNEEDED: SnapshotBefore = { is: "unneeded" };

/**
 * The word by which a person lets members move without it. Where rollouts wait for approval, it is of this very one, and
 * approves both: there is one annotation for all approvals.
 */
export function withoutSnapshot(to: string, rollout?: string): string {
  return rollout === undefined ? `without-snapshot-${minorOf(to)}` : `${rollout}-without-snapshot`;
}

/**
 * Where the next template is the first of another minor version. Once one member was given it, it has begun. Without
 * quorum it does not count: then the edit that brings members back must wait for nothing.
 */
export function crosses(view: View, to: string): boolean {
  if (!view.established || !view.hasQuorum || view.staying.length === 0) return false;
  const distances = view.staying.map(({ record }) => minorNumber(to) - minorNumber(record.template.version));
  if (distances.every((distance) => distance > 0)) return true;
  // An upgrade that the cluster has not agreed on yet is taken back without one.
  return distances.every((distance) => distance < 0) && downgradeTarget(view) === minorOf(to);
}

/** Before members move to the minor version of `to`, up or down; `rollout` is the hash of their next template. */
export function snapshotBefore(view: View, to: string, rollout?: string): SnapshotBefore {
  const { spec, now, observation } = view;
  const { cluster, snapshots: state } = observation;
  const words = [withoutSnapshot(to), ...(rollout === undefined ? [] : [withoutSnapshot(to, rollout)])];
  if (spec.update.snapshotBefore === false || words.includes(cluster.approved ?? "")) return UNNEEDED;
  const schedules = (state?.schedules ?? [])
    .filter((one) => !one.deleting && one.spec.suspend !== true)
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const schedule = schedules.find(({ invalid }) => invalid === undefined);
  const [unreadable] = [
    ...schedules.flatMap(({ name, invalid }) => (invalid === undefined ? [] : { name, why: invalid })),
    ...(state?.unreadable ?? []),
  ];
  if (schedule === undefined && unreadable === undefined) return UNNEEDED;
  const minor = minorOf(to);
  const own = (state?.snapshots ?? []).filter(
    ({ before, deleting, createdAt, status }) =>
      before === minor &&
      !deleting &&
      // One that still waits is waited for, however long; a large one may take longer than it stays fresh.
      (now - (takenAt(status) ?? createdAt) < FRESH_MS || !isFinal({ status })) &&
      (status.clusterUID ?? cluster.uid) === cluster.uid,
  );
  if (own.some(({ status }) => status.phase === "Succeeded")) return UNNEEDED;
  const open = own.find((one) => !isFinal(one));
  if (open) return { is: "running", snapshot: open };
  const failed = own.at(-1);
  if (failed) return { is: "failed", snapshot: failed, againAt: failed.createdAt + FRESH_MS };
  if (schedule === undefined) return unreadable ? { is: "unreadable", schedule: unreadable } : UNNEEDED;
  // The same within an hour, so that a controller that dies after it was created makes no second one.
  const name = `${cluster.name}-before-${minor.replaceAll(".", "-")}-${Math.floor(now / FRESH_MS)}`;
  return { is: "wanted", name, schedule, minor };
}

function takenAt({ phase, completedAt }: SnapshotFacts["status"]): number | undefined {
  return phase === "Succeeded" && completedAt !== undefined ? Date.parse(completedAt) : undefined;
}
