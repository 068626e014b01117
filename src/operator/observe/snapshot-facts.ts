/** EtcdSnapshot and the Jobs that work for it → the facts that core decides on. Pure. */
import type { Job } from "kubernetes-types/batch/v1.d.ts";
import type { Pod } from "kubernetes-types/core/v1.d.ts";
import { etcdSnapshotSchema, type EtcdSnapshot } from "../../api/etcd-snapshot.ts";
import { etcdSnapshotScheduleSchema, type EtcdSnapshotSchedule } from "../../api/etcd-snapshot-schedule.ts";
import { resourceParser } from "../../api/parse-resource.ts";
import { inOrderOfCreation, type ScheduleFacts, type SnapshotFacts } from "../../core/snapshots/facts.ts";
import type { FollowerFacts } from "../../core/snapshots/follower-facts.ts";
import { isControlledBy } from "../../kube/resources.ts";
import { sourceAt } from "../../snapshot/place.ts";
import { ANNOTATIONS, LABELS, SNAPSHOT_FINALIZER } from "../names.ts";
import { textOf } from "../records/cluster-object.ts";
import { followersFrom, type Reports } from "./follower-facts.ts";
import { jobFacts, type JobContext } from "./job-facts.ts";

/** The snapshots of one cluster, with all Jobs of the cluster and their Pods. */
export interface SnapshotObjects {
  readonly snapshots: readonly EtcdSnapshot[];
  readonly schedules: readonly EtcdSnapshotSchedule[];
  readonly jobs: readonly Job[];
  readonly pods: readonly Pod[];
}

const parse = resourceParser("EtcdSnapshot", etcdSnapshotSchema);

/** Cached objects are frozen and live long: passes over an unchanged one share what was found. */
const known = new WeakMap<EtcdSnapshot, { readonly invalid?: string }>();

/** Parsed again although the API server has checked it: its definition may be another release's. */
function judged(object: EtcdSnapshot): { readonly invalid?: string } {
  let found = known.get(object);
  if (found === undefined) {
    const parsed = parse(object);
    found = parsed.ok
      ? {}
      : {
          invalid: `this release does not understand the snapshot (${textOf(parsed.errors)}); upgrade the operator, or create another one`,
        };
    if (Object.isFrozen(object)) known.set(object, found);
  }
  return found;
}

const parseSchedule = resourceParser("EtcdSnapshotSchedule", etcdSnapshotScheduleSchema);

export function schedulesFrom(
  { schedules, pods }: Pick<SnapshotObjects, "schedules" | "pods">,
  now: number,
  reports: Reports,
): ScheduleFacts[] {
  return schedules.map((object) => {
    const { metadata, spec, status } = object;
    const parsed = parseSchedule(object);
    const { file } = spec.destination ?? {};
    const wrong = !parsed.ok
      ? `this release does not understand the schedule (${textOf(parsed.errors)}); upgrade the operator, or correct it`
      : file === undefined
        ? undefined
        : NO_FILES;
    return {
      name: metadata.name,
      uid: metadata.uid ?? "",
      resourceVersion: metadata.resourceVersion ?? "",
      generation: metadata.generation ?? 1,
      createdAt: Date.parse(metadata.creationTimestamp ?? "") || 0,
      deleting: metadata.deletionTimestamp !== undefined,
      spec,
      status: status ?? {},
      ...(wrong !== undefined && { invalid: wrong }),
      ...withFollowers(followersFrom(pods, metadata.uid ?? "", now, reports)),
    };
  });
}

function withFollowers(followers: readonly FollowerFacts[]): Pick<ScheduleFacts, "followers"> {
  return followers.length === 0 ? {} : { followers };
}

const NO_FILES =
  "spec.destination.file names a directory of one machine, which Kubernetes does not have: use s3, gcs, azure or pvc";

export function snapshotsFrom(
  { snapshots, jobs, pods }: Omit<SnapshotObjects, "schedules">,
  context: JobContext,
): SnapshotFacts[] {
  return inOrderOfCreation(snapshots.map((snapshot) => factsOf(snapshot, jobs, pods, context)));
}

function factsOf(
  object: EtcdSnapshot,
  jobs: readonly Job[],
  pods: readonly Pod[],
  context: JobContext,
): SnapshotFacts {
  const { metadata, spec, status } = object;
  const uid = metadata.uid ?? "";
  const own = jobs.filter(
    (job) => job.metadata?.labels?.[LABELS.snapshotUID] === uid && isControlledBy(job, uid),
  );
  return {
    name: metadata.name,
    uid,
    resourceVersion: metadata.resourceVersion ?? "",
    generation: metadata.generation ?? 1,
    createdAt: Date.parse(metadata.creationTimestamp ?? "") || 0,
    deleting: metadata.deletionTimestamp !== undefined,
    held: metadata.finalizers?.includes(SNAPSHOT_FINALIZER) ?? false,
    spec,
    status: status ?? {},
    ...(metadata.labels?.[LABELS.scheduleUID] !== undefined && {
      schedule: metadata.labels[LABELS.scheduleUID],
    }),
    ...(metadata.labels?.[LABELS.before] !== undefined && { before: metadata.labels[LABELS.before] }),
    ...restoredBy(object),
    ...(metadata.annotations?.[ANNOTATIONS.verify] !== undefined && {
      verifyRequest: metadata.annotations[ANNOTATIONS.verify],
    }),
    jobs: own.flatMap((job) => jobFacts(job, pods, spec, context) ?? []),
    ...judged(object),
    ...(spec.destination?.file !== undefined && { unsupported: NO_FILES }),
  };
}

function restoredBy({ metadata, spec, status }: EtcdSnapshot): Pick<SnapshotFacts, "restores" | "source"> {
  const restores = metadata.labels?.[LABELS.restores];
  const source = status?.uri === undefined ? undefined : sourceAt(spec.destination, status.uri);
  return { ...(restores !== undefined && { restores }), ...(source && { source }) };
}
