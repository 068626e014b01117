/**
 * A restore to a point in time: its snapshot is built first, as an EtcdSnapshot that belongs to what is restored, a first
 * boot or an operation. Its name follows from that and from the point, so that there is never a second one; what it says
 * is its record, so that a controller that dies continues. It goes, with its object in the store, when nobody needs it.
 */
import type { RestorePoint } from "../../api/point-in-time.ts";
import type { RestoreRecipe } from "../../api/bootstrap.ts";
import type { EtcdClusterSpec } from "../../api/etcd-cluster-spec.ts";
import type { EtcdSnapshotScheduleSpec } from "../../api/etcd-snapshot-schedule.ts";
import type { EtcdSnapshotSpec } from "../../api/etcd-snapshot.ts";
import { canonical, shortHash } from "../template/hash.ts";
import { POINTS } from "../messages/restore-words.ts";
import type { OperationFacts, PlatformFacts } from "../observation.ts";
import { isFinished } from "../operations/status.ts";
import type { SnapshotFacts } from "../snapshots/facts.ts";
import { specFor } from "../snapshots/scheduled-spec.ts";
import type { View } from "../view.ts";

/** Who restores it. */
export interface PointOwner {
  readonly kind: "EtcdCluster" | "EtcdOperation";
  readonly name: string;
  readonly uid: string;
}

interface AskedPoint {
  readonly owner: PointOwner;
  readonly pointInTime: RestorePoint;
  readonly encryption?: RestoreRecipe["encryption"];
}

export interface WantedPoint {
  readonly name: string;
  readonly owner: PointOwner;
  readonly spec: EtcdSnapshotSpec;
}

export type PointState =
  /** It cannot be told what to build. */
  | { readonly is: "refused"; readonly message: string }
  | (WantedPoint & { readonly is: "wanted"; readonly why?: string })
  | (WantedPoint & { readonly is: "building"; readonly why: string })
  | (WantedPoint & { readonly is: "failed"; readonly why: string })
  | (WantedPoint & { readonly is: "built"; readonly recipe: RestoreRecipe });

/** Of the first boot; undefined where it starts from something else. */
export function bootPoint({ spec, observation: { cluster } }: View): AskedPoint | undefined {
  const { pointInTime, encryption } = spec.bootstrap?.restore ?? {};
  if (pointInTime === undefined) return undefined;
  const { name, uid } = cluster;
  return { owner: { kind: "EtcdCluster", name, uid }, pointInTime, ...(encryption && { encryption }) };
}

/** Of a restore in place; undefined where it restores something else. */
export function operationPoint({ name, uid, task }: OperationFacts): AskedPoint | undefined {
  if (task.kind !== "restore" || task.pointInTime === undefined) return undefined;
  const { pointInTime, encryption } = task;
  return { owner: { kind: "EtcdOperation", name, uid }, pointInTime, ...(encryption && { encryption }) };
}

export function pointState(view: View, asked: AskedPoint): PointState {
  const { snapshots: state } = view.observation;
  const { owner } = asked;
  const name = nameOf(view, asked);
  const found = state?.snapshots.find((one) => one.name === name);
  if (found && found.restores !== owner.uid) return { is: "refused", message: POINTS.nameTaken(name) };
  const spec = found?.spec ?? specOf(view, asked);
  if ("refused" in spec) return { is: "refused", message: spec.refused };
  const point = { name, owner, spec };
  if (!found) {
    const why = state?.pointFailures?.[owner.uid];
    return { ...point, is: "wanted", ...(why !== undefined && { why }) };
  }
  const { phase, sha256, revision, message = POINTS.waits } = found.status;
  if (found.deleting) return { ...point, is: "building", why: POINTS.formerBeingDeleted };
  if (phase === "Failed" || phase === "Rejected") return { ...point, is: "failed", why: message };
  if (phase !== "Succeeded") return { ...point, is: "building", why: message };
  const { source } = found;
  if (!source) return { ...point, is: "failed", why: POINTS.noPlace };
  const { encryption } = spec;
  const recipe = {
    snapshot: name,
    source,
    ...(sha256 !== undefined && { checksum: sha256 }),
    ...(revision !== undefined && { revision }),
    ...(encryption && { encryption }),
  };
  return { ...point, is: "built", recipe };
}

/** Another one for another owner and for another point, since an edit before the first boot starts over. */
function nameOf({ observation: { cluster } }: View, { owner, pointInTime, encryption }: AskedPoint): string {
  return `${cluster.name}-point-${shortHash(canonical({ owner: owner.uid, pointInTime, encryption }))}`;
}

/** What it restores is checked by whoever restores it, so that it is not verified before. */
function specOf(view: View, asked: AskedPoint): EtcdSnapshotSpec | { readonly refused: string } {
  const { cluster, platform, snapshots } = view.observation;
  const own = (name: string) => snapshots?.schedules?.find((one) => one.name === name)?.spec;
  return pointSpec(cluster.name, asked, (name) => platform.pointSchedules?.[name] ?? own(name));
}

export function pointSpec(
  cluster: string,
  { pointInTime, encryption }: Pick<AskedPoint, "pointInTime" | "encryption">,
  scheduleNamed: (name: string) => EtcdSnapshotScheduleSpec | undefined,
): EtcdSnapshotSpec | { readonly refused: string } {
  const { schedule: name, destination, ...point } = pointInTime;
  const own = { cluster, pointInTime: point, verify: false, deletionPolicy: "Delete" } as const;
  if (destination) return { ...own, destination, ...(encryption && { encryption }) };
  const schedule = name === undefined ? undefined : scheduleNamed(name);
  if (!schedule) return { refused: POINTS.noSchedule(name) };
  return { ...specFor({ spec: schedule }), ...own };
}

/** The schedules that restores name, whichever cluster they are of. */
export function pointSchedules(
  { bootstrap }: Pick<EtcdClusterSpec, "bootstrap">,
  operations: readonly OperationFacts[],
  scheduleNamed: (name: string) => EtcdSnapshotScheduleSpec | undefined,
): Pick<PlatformFacts, "pointSchedules"> {
  const open = operations.filter((operation) => !isFinished(operation));
  const points = [bootstrap?.restore.pointInTime, ...open.map((one) => operationPoint(one)?.pointInTime)];
  const found = points.flatMap((point) => {
    const { schedule: name } = point ?? {};
    const schedule = name === undefined ? undefined : scheduleNamed(name);
    return name === undefined || !schedule ? [] : [[name, schedule] as const];
  });
  return found.length === 0 ? {} : { pointSchedules: Object.fromEntries(found) };
}

/** A point that was built for a restore that has ended, or for another one than is asked for now. */
export function isSpent(view: View, snapshot: SnapshotFacts): boolean {
  const { cluster, operations, platform } = view.observation;
  const { restores, name } = snapshot;
  if (restores === undefined) return false;
  if (restores === cluster.uid) {
    // Whoever starts from it reads it until its data is there.
    if (view.members.some(({ record }) => !record.joined && record.restore?.snapshot === name)) return false;
    const asked = view.established ? undefined : bootPoint(view);
    return asked === undefined || nameOf(view, asked) !== name;
  }
  const operation = operations.find(({ uid }) => uid === restores);
  // On Kubernetes one that is gone takes it along: that it is not seen proves nothing.
  return operation ? isFinished(operation) : platform.machine !== undefined;
}
