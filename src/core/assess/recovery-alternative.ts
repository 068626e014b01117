/**
 * What could be restored instead of recovering from the survivor: the newest EtcdSnapshot of the cluster's data, and what
 * a schedule has recorded since. Each is a restore in place with a plan of its own, by whose hash it is approved.
 */
import type { Instead } from "../facts/operation-facts.ts";
import type { SnapshotFacts } from "../snapshots/facts.ts";
import type { View } from "../view.ts";
import { lostSeconds } from "./lost-time.ts";
import type { RecoveryPlan } from "./recovery-plan.ts";
import { plannedFor, pointPlan, restorePlan } from "./restore-plan.ts";
import { notOnMachine } from "./restore-places.ts";
import { pointSpec } from "./restore-point.ts";

export interface Alternative {
  readonly is: "Snapshot" | "PointInTime";
  /** Of the EtcdSnapshot, or of the EtcdSnapshotSchedule that recorded the changes. */
  readonly name: string;
  readonly revision: number;
  /** What the operation that restores it says. */
  readonly restore: Instead;
  /** Its hash; undefined where it cannot be told what to restore. */
  readonly plan?: string | undefined;
  /** Revisions that were seen and that it has not; undefined where it is not known how far the cluster had come. */
  readonly lost?: number | undefined;
  /** What it has not was written within so many seconds before the loss of quorum, at most. */
  readonly lostSeconds?: number | undefined;
  /** When it was taken, or up to when changes were recorded. */
  readonly at?: string | undefined;
  readonly verifiedAt?: string | undefined;
  readonly etcdVersion?: string | undefined;
}

/** Of this cluster's data alone: revisions of another life are not compared with it. */
export function snapshotInstead(view: View, plan: RecoveryPlan): Alternative | undefined {
  const clusterID = view.observation.cluster.marks.established?.clusterID;
  const taken = (view.observation.snapshots?.snapshots ?? []).flatMap((snapshot) => {
    const { name, deleting, restores, status } = snapshot;
    const { phase, revision, completedAt: at, verifiedAt, etcdVersion } = status;
    // What was built of a point in time is older than its beginning.
    const since = snapshot.spec.pointInTime ? undefined : status.startedAt;
    if (phase !== "Succeeded" || deleting || restores !== undefined) return [];
    if (revision === undefined || status.clusterID !== clusterID) return [];
    const found = { is: "Snapshot", name, revision, at, verifiedAt, etcdVersion } as const;
    return [{ ...found, ...restoreOf(view, plan, snapshot), ...lostBy(view, plan, { revision, since }) }];
  });
  return taken.toSorted((a, b) => b.revision - a.revision)[0];
}

/** On one machine a restore names the place. */
function restoreOf(
  view: View,
  { nodesOff }: RecoveryPlan,
  snapshot: SnapshotFacts,
): Pick<Alternative, "restore" | "plan"> {
  const planned = plannedFor(view, nodesOff);
  const { name, source, spec, status } = snapshot;
  const checksum = status.sha256 === undefined ? {} : { checksum: status.sha256 };
  const isLocal = view.observation.platform.machine !== undefined;
  if (!source) return { restore: { snapshot: name } };
  const recipe = { source, ...checksum, ...(spec.encryption && { encryption: spec.encryption }) };
  // What would be rejected has no plan to approve.
  if (isLocal && notOnMachine(recipe) !== undefined) return { restore: { source, ...checksum } };
  return isLocal
    ? { restore: { source, ...checksum }, plan: restorePlan(planned, { source, ...checksum }) }
    : { restore: { snapshot: name }, plan: restorePlan(planned, { snapshot: name, ...recipe }) };
}

/** The schedule that has recorded most. */
export function pointInstead(view: View, plan: RecoveryPlan): Alternative | undefined {
  const { cluster, snapshots } = view.observation;
  const clusterID = cluster.marks.established?.clusterID;
  const recorded = (snapshots?.schedules ?? []).flatMap(({ name, deleting, invalid, spec, status }) => {
    const { revision, time: at, clusterID: of } = status.incremental ?? {};
    if (deleting || invalid !== undefined || !spec.incremental) return [];
    if (revision === undefined || clusterID === undefined || of !== clusterID) return [];
    const pointInTime = { revision, clusterID, schedule: name };
    const built = pointSpec(cluster.name, { pointInTime }, () => spec);
    if ("refused" in built) return [];
    const restore = { pointInTime };
    const found = { is: "PointInTime", name, revision, at, restore } as const;
    return [
      {
        ...found,
        plan: pointPlan(plannedFor(view, plan.nodesOff), built),
        ...lostBy(view, plan, { revision }),
      },
    ];
  });
  return recorded.toSorted((a, b) => b.revision - a.revision)[0];
}

/** What the survivor may hold counts as written, though nobody saw it being answered. */
function lostBy(
  view: View,
  plan: RecoveryPlan,
  copy: { readonly revision: number; readonly since?: string | undefined },
): Pick<Alternative, "lost" | "lostSeconds"> {
  const seconds = { lostSeconds: lostSeconds(view, plan.goneAt, copy) };
  if (!plan.lost) return seconds;
  const written = Math.max(view.observation.etcd.highestRevision ?? 0, plan.revisions.most);
  return { lost: Math.max(0, written - copy.revision), ...seconds };
}

/** What spec.recovery.prefer asks for, if there is such a thing; undefined for the survivor. */
export function preferredInstead(view: View, plan: RecoveryPlan): Alternative | undefined {
  if (view.spec.recovery?.prefer !== "Snapshot") return undefined;
  const found = [snapshotInstead(view, plan), pointInstead(view, plan)].flatMap((one) =>
    one?.plan === undefined ? [] : [one],
  );
  // The snapshot where both have the same: nothing has to be built for it.
  return found.toSorted((a, b) => b.revision - a.revision)[0];
}
