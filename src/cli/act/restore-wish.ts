/** What a person wants to have restored: a snapshot, or a point in time; as the operation says it, and as it is planned. */
import path from "node:path";
import type { EtcdOperationSpec } from "../../api/etcd-operation.ts";
import type { RestorePoint } from "../../api/point-in-time.ts";
import {
  givenNodes,
  plannedText,
  pointPlan,
  pointText,
  restorePlan,
} from "../../core/assess/restore-plan.ts";
import { pointSpec } from "../../core/assess/restore-point.ts";
import { namedSnapshot } from "../../operator/observe/restore-source.ts";
import { systemDisk } from "../../seams/disk.ts";
import { CommandError, EXIT } from "../exit.ts";
import type { Flags, ValuesOf } from "../flag.ts";
import { UsageError } from "../io.ts";
import type { ClusterObject, Target } from "../target/target.ts";
import { folderOf, SOURCE_FLAGS, sourceOf } from "./source.ts";

const POINT_FLAGS = {
  "at-time": {
    kind: "text",
    value: "time",
    help: "restore the state that had been received by this time, such as 2026-11-17T08:29:00Z",
  },
  "at-revision": { kind: "text", value: "n", help: "restore the state at this revision" },
  "cluster-id": {
    kind: "text",
    value: "id",
    help: "with --at-…: etcd's ID of the cluster, where the folder has snapshots of several",
  },
  "etcd-version": {
    kind: "text",
    value: "3.y.z",
    help: "with --at-…: the etcd to replay with, if the snapshot before the point is of another minor version",
  },
} as const satisfies Flags;

export const WISH_FLAGS = {
  ...POINT_FLAGS,
  ...SOURCE_FLAGS,
  checksum: {
    kind: "text",
    value: "sha256",
    help: "SHA-256 of the plain snapshot; another one is not restored",
  },
  "key-secret": {
    kind: "text",
    value: "name",
    help: "Kubernetes: Secret with the key of an encrypted snapshot",
  },
} as const satisfies Flags;

type Wishes = ValuesOf<typeof WISH_FLAGS>;

export interface RestoreWish {
  readonly asked: Omit<NonNullable<EtcdOperationSpec["restore"]>, "approve">;
  /** The hash of its plan. */
  readonly plan: string;
  readonly description: string;
}

interface Around {
  readonly cwd: string;
  readonly target: Target;
  readonly cluster: ClusterObject;
  readonly clusterID: string;
  /** A plan that is good only if these are off. */
  readonly nodesOff: readonly string[];
}

export async function wishOf(text: string, flags: Wishes, around: Around): Promise<RestoreWish> {
  const { cluster, clusterID, nodesOff } = around;
  const named = nodesOff.length > 0 ? { nodesOff: [...nodesOff] } : {};
  const uid = cluster.metadata.uid ?? "";
  const planned = { uid, clusterID, version: cluster.spec.version, ...givenNodes(nodesOff) };
  if (flags["at-time"] !== undefined || flags["at-revision"] !== undefined) {
    const { asked, spec } = await pointWish(text, flags, around);
    return { asked: { ...asked, ...named }, plan: pointPlan(planned, spec), description: pointText(spec) };
  }
  for (const flag of ["cluster-id", "etcd-version"] as const)
    if (flags[flag] !== undefined) throw new UsageError(`--${flag} needs --at-time or --at-revision`);
  const { asked, recipe } = await snapshotWish(text, flags, around);
  const plan = restorePlan(planned, recipe);
  return { asked: { ...asked, ...named }, plan, description: plannedText(recipe) };
}

/** The name is that of the schedule that recorded the changes, and otherwise their folder. */
async function pointWish(text: string, flags: Wishes, { cwd, target, cluster }: Around) {
  const { checksum, "key-secret": keySecret } = flags;
  if (checksum !== undefined)
    throw new UsageError("--checksum cannot be used with a point in time, which is built first");
  const point = pointOf(flags);
  const isNamed = !text.includes("/");
  if (!isNamed) {
    const destination = folderOf(text, flags, cwd);
    const asked = {
      pointInTime: { ...point, destination },
      ...(keySecret !== undefined && { encryption: { keySecret } }),
    };
    return { asked, spec: specOf(cluster, asked, undefined) };
  }
  refuse(flags, [...Object.keys(SOURCE_FLAGS), "key-secret"], "an EtcdSnapshotSchedule");
  const found = await target.schedule(text, cluster);
  const asked = { pointInTime: { ...point, schedule: text } };
  return { asked, spec: specOf(cluster, asked, found?.spec) };
}

function specOf(
  cluster: ClusterObject,
  asked: Parameters<typeof pointSpec>[1],
  schedule: ReturnType<Parameters<typeof pointSpec>[2]>,
) {
  const spec = pointSpec(cluster.metadata.name, asked, () => schedule);
  if ("refused" in spec)
    throw new CommandError(EXIT.notFound, `${spec.refused}, such as s3://bucket/prefix/`);
  return spec;
}

function pointOf(flags: Wishes): RestorePoint {
  const { "at-time": time, "at-revision": revision, "cluster-id": clusterID } = flags;
  const { "etcd-version": etcdVersion } = flags;
  if (time !== undefined && revision !== undefined)
    throw new UsageError("--at-time and --at-revision name two points: give one of them");
  if (time !== undefined && Number.isNaN(Date.parse(time)))
    throw new UsageError(`--at-time ${time}: give a time such as 2026-11-17T08:29:00Z`);
  if (revision !== undefined && !/^[1-9]\d{0,14}$/.test(revision))
    throw new UsageError(`--at-revision ${revision}: give a revision of 1 or more`);
  return {
    ...(time !== undefined && { time: new Date(time).toISOString() }),
    ...(revision !== undefined && { revision: Number(revision) }),
    ...(clusterID !== undefined && { clusterID }),
    ...(etcdVersion !== undefined && { etcdVersion }),
  };
}

/** An EtcdSnapshot knows its place, its checksum and its key. */
async function snapshotWish(text: string, flags: Wishes, { cwd, target, cluster }: Around) {
  const { checksum, "key-secret": keySecret } = flags;
  const isNamed = target.kind === "kubernetes" && !text.includes("://");
  if (!isNamed) {
    const source = sourceOf(text, flags, cwd);
    // The controller looks on this very machine; elsewhere only the operator can tell.
    if (source.file !== undefined && target.kind === "local" && !(await systemDisk.stat(source.file.path)))
      throw new CommandError(
        EXIT.notFound,
        `there is no snapshot ${source.file.path}. List what there is: ${target.command} snapshot ls ${path.dirname(source.file.path)}/`,
      );
    const recipe = {
      source,
      ...(checksum !== undefined && { checksum }),
      ...(keySecret !== undefined && { encryption: { keySecret } }),
    };
    return { asked: recipe, recipe };
  }
  refuse(flags, [...Object.keys(SOURCE_FLAGS), "checksum", "key-secret"], "an EtcdSnapshot");
  const found = namedSnapshot(text, await target.snapshot(text, cluster));
  if ("refused" in found)
    throw new CommandError(
      EXIT.notFound,
      `${found.refused}. Name one that succeeded (kubectl get es), or a place such as s3://bucket/name.db`,
    );
  return { asked: { snapshot: text }, recipe: found.recipe };
}

function refuse(flags: Wishes, names: readonly string[], what: string): void {
  for (const flag of names as readonly (keyof Wishes)[])
    if (flags[flag] !== undefined)
      throw new UsageError(`--${flag} cannot be used with ${what}, which says it itself`);
}
