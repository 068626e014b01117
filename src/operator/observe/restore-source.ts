/** Where the snapshot of `spec.bootstrap.restore` is, as Pods find it; or why there is none to start from. */
import type { Restore } from "../../api/bootstrap.ts";
import type { EtcdClusterSpec } from "../../api/etcd-cluster-spec.ts";
import type { EtcdSnapshot } from "../../api/etcd-snapshot.ts";
import type { NamedSnapshot, PlatformFacts } from "../../core/observation.ts";
import { sourceAt } from "../../snapshot/place.ts";

export interface RestoreContext {
  /** The operator's own image. */
  readonly image?: string | undefined;
  /** An EtcdSnapshot of the same namespace. */
  readonly snapshot?: ((name: string) => EtcdSnapshot | undefined) | undefined;
}

type Found = Pick<PlatformFacts, "restoreRefused" | "restoreFrom">;

const FIELD = "spec.bootstrap.restore";

export function restoreOf(
  { bootstrap }: Pick<EtcdClusterSpec, "bootstrap">,
  { image, snapshot }: RestoreContext,
): Found {
  if (bootstrap === undefined) return {};
  const { restore } = bootstrap;
  const field = restore.pointInTime ? "pointInTime.destination" : "source";
  const { file } = restore.pointInTime?.destination ?? restore.source ?? {};
  if (file !== undefined)
    return refused(
      `${FIELD}.${field}.file`,
      "Pods cannot read a file of this machine: use s3, gcs or azure, or pvc for a file on a volume",
    );
  if (image === undefined)
    return refused(
      FIELD,
      "the operator does not know its own image, which reads the snapshot: start it with --image or QUORATE_IMAGE",
    );
  return restore.snapshot === undefined
    ? {}
    : fromSnapshot(restore, restore.snapshot, snapshot?.(restore.snapshot));
}

function fromSnapshot(restore: Restore, name: string, snapshot: EtcdSnapshot | undefined): Found {
  const found = namedSnapshot(name, snapshot);
  return "refused" in found
    ? refused(`${FIELD}.snapshot`, found.refused)
    : { restoreFrom: { ...restore, ...found.recipe } };
}

/** Where the snapshot of an EtcdSnapshot is, its checksum and its key; or why there is nothing to restore. */
export function namedSnapshot(name: string, snapshot: EtcdSnapshot | undefined): NamedSnapshot {
  if (snapshot === undefined) return { refused: `there is no EtcdSnapshot ${name} in this namespace` };
  // Its object may be gone before the restore has read it.
  if (snapshot.metadata.deletionTimestamp !== undefined)
    return { refused: `the EtcdSnapshot ${name} is being deleted: name another one` };
  const { phase, uri = "", sha256, revision } = snapshot.status ?? {};
  const source = sourceAt(snapshot.spec.destination, uri);
  if (phase !== "Succeeded" || source === undefined)
    return {
      refused: `the EtcdSnapshot ${name} has not succeeded (${phase ?? "Pending"}), so there is nothing to restore`,
    };
  const { encryption } = snapshot.spec;
  return {
    recipe: {
      snapshot: name,
      source,
      ...(sha256 !== undefined && { checksum: sha256 }),
      ...(revision !== undefined && { revision }),
      ...(encryption && { encryption }),
    },
  };
}

function refused(field: string, message: string): Found {
  return { restoreRefused: { field, message } };
}
