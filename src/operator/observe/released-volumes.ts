/**
 * PersistentVolumes that outlived their claims, as they do where a whole namespace was deleted: whose they say they are,
 * and whether this cluster may have them back. One that is bound is somebody's, whatever is written on it.
 */
import type { PersistentVolume, PersistentVolumeClaim } from "kubernetes-types/core/v1.d.ts";
import type { ReleasedVolume, VolumeIdentity } from "../../core/facts/adoption-facts.ts";
import type { ClusterFacts } from "../../core/observation.ts";
import { memberName, ordinalOf } from "../../core/record.ts";
import { ANNOTATIONS, claimName, LABELS } from "../names.ts";

/** What is written on a claim or a PersistentVolume. */
export function identityOn({
  labels = {},
  annotations = {},
}: NonNullable<PersistentVolumeClaim["metadata"]>): VolumeIdentity {
  return {
    clusterID: labels[LABELS.clusterID],
    memberID: labels[LABELS.memberID],
    token: annotations[ANNOTATIONS.token],
    version: annotations[ANNOTATIONS.etcdVersion],
  };
}

type Cluster = Pick<ClusterFacts, "name" | "namespace">;

/** By ordinal, without those that are bound. */
export function releasedVolumes(
  cluster: Cluster,
  volumes: readonly PersistentVolume[],
  claims: readonly PersistentVolumeClaim[],
): ReleasedVolume[] {
  const ordinalIn = ({ spec }: PersistentVolume) =>
    ordinalOf(claimName(cluster.name), spec?.claimRef?.name ?? "");
  return volumes
    .toSorted((a, b) => (ordinalIn(a) ?? 0) - (ordinalIn(b) ?? 0))
    .flatMap((volume): ReleasedVolume[] => {
      const { name = "", uid = "" } = volume.metadata ?? {};
      const ordinal = ordinalIn(volume);
      if (ordinal === undefined || volume.status?.phase === "Bound") return [];
      const member = memberName(cluster.name, ordinal);
      const refused = whyNotBound(cluster, volume, claims);
      const identity = identityOn(volume.metadata ?? {});
      return [{ name, uid, member, identity, ...(refused !== undefined && { refused }) }];
    });
}

/** Why a PersistentVolume may not be bound to a claim of this cluster; undefined where it may, or was left halfway. */
export function whyNotBound(
  cluster: Cluster,
  { metadata, spec, status }: PersistentVolume,
  claims: readonly PersistentVolumeClaim[],
): string | undefined {
  const { namespace, name } = spec?.claimRef ?? {};
  if (namespace !== cluster.namespace) return `its claim was ${namespace}/${name}, in another namespace`;
  const member = metadata?.labels?.[LABELS.member];
  if (member === undefined || claimName(member) !== name)
    return `it is marked as the volume of ${member ?? "no member"}, but its claim was ${name}`;
  if (metadata?.deletionTimestamp !== undefined) return "it is being deleted";
  if (spec?.persistentVolumeReclaimPolicy !== "Retain")
    return `its persistentVolumeReclaimPolicy is ${spec?.persistentVolumeReclaimPolicy}, so it may be erased at any moment`;
  const phase = status?.phase;
  if (phase !== "Released" && phase !== "Available") return `it is ${phase ?? "of unknown state"}`;
  const claim = claims.find((one) => one.metadata?.namespace === namespace && one.metadata?.name === name);
  if (claim && claim.spec?.volumeName !== metadata?.name)
    return `the claim ${name} exists and has ${claim.spec?.volumeName === undefined ? "no volume yet" : `the volume ${claim.spec.volumeName}`}`;
  // The volume controller completes it.
  if (claim && spec.claimRef?.uid === claim.metadata?.uid) return "it is being bound";
  return undefined;
}
