/** A change of a cluster or member as a person means it: made on what is there now, and again if that changed. */
import type { EtcdMember } from "../../api/etcd-member.ts";
import { CommandError, EXIT } from "../exit.ts";
import { chosenMember } from "../target/choose.ts";
import type { ClusterObject, ClusterPatch, Target } from "../target/target.ts";

/** More than this many writers at once is a fault somewhere, and not bad luck. */
const MOST_TRIES = 6;

export interface Changed<T> {
  readonly object: T;
  /** False when it was so already. */
  readonly changed: boolean;
}

/** `patchOf` sees the newest state each time; undefined where nothing is left to do. */
export async function changeCluster(
  target: Target,
  cluster: ClusterObject,
  patchOf: (cluster: ClusterObject) => ClusterPatch | undefined,
): Promise<Changed<ClusterObject>> {
  return await retried(
    cluster,
    patchOf,
    (object, patch) => target.patchCluster(object, patch),
    () => target.cluster(cluster.metadata.name),
  );
}

/**
 * Another value of a field of the spec; not if somebody else chose one since `before`, for what was said about the change
 * no longer holds.
 */
export function respecified<F extends "replicas" | "version">(
  field: F,
  before: ClusterObject["spec"][F],
  wanted: ClusterObject["spec"][F],
): (cluster: ClusterObject) => ClusterPatch | undefined {
  return ({ spec }) => {
    if (spec[field] === wanted) return undefined;
    if (spec[field] === before) return { spec: { [field]: wanted } };
    throw new CommandError(
      EXIT.conflict,
      `spec.${field} was changed from ${before} to ${spec[field]} in the meantime, and nothing was written. Run the command again`,
    );
  };
}

export async function changeMember(
  target: Target,
  cluster: ClusterObject,
  member: EtcdMember,
  patchOf: (member: EtcdMember) => Pick<ClusterPatch, "annotations"> | undefined,
): Promise<Changed<EtcdMember>> {
  return await retried(
    member,
    patchOf,
    (object, patch) => target.patchMember(object, patch),
    () => chosenMember(target, cluster, member.metadata.name),
  );
}

async function retried<T extends { readonly metadata: { readonly uid?: string } }, P>(
  first: T,
  patchOf: (object: T) => P | undefined,
  write: (object: T, patch: P) => Promise<T>,
  read: () => Promise<T>,
): Promise<Changed<T>> {
  let object = first;
  for (let tries = 1; ; tries++) {
    const patch = patchOf(object);
    if (patch === undefined) return { object, changed: false };
    try {
      return { object: await write(object, patch), changed: true };
    } catch (error) {
      if (!(error instanceof CommandError) || error.code !== EXIT.conflict || tries >= MOST_TRIES)
        throw error;
    }
    object = await read();
    if (object.metadata.uid !== first.metadata.uid)
      throw new CommandError(
        EXIT.conflict,
        "it was deleted and created again in the meantime; nothing was changed. Run the command again",
      );
  }
}
