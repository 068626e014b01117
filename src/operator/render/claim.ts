/**
 * The claim of a member whose data is persistent. It has no owner: only a step deletes it (I5). Its labels tell
 * whose it is, by UID, since names return (I9).
 */
import type { PersistentVolume, PersistentVolumeClaim } from "kubernetes-types/core/v1.d.ts";
import type { LabelSelector } from "kubernetes-types/meta/v1.d.ts";
import { bytesOf } from "../../api/quantity.ts";
import type { MemberRecord, MemberTemplate } from "../../core/record.ts";
import { ANNOTATIONS, claimName, LABELS } from "../names.ts";
import { givenBy, withGiven } from "./given.ts";
import { claimIdentity } from "./volume-identity.ts";
import { memberObjectLabels, type Identity } from "./metadata.ts";
import { canonicalQuantity } from "./quantity.ts";

const DEFAULT_MODES = ["ReadWriteOnce"] as const;

export function memberClaim(cluster: Identity, record: MemberRecord): PersistentVolumeClaim {
  const claim: PersistentVolumeClaim = {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: {
      name: claimName(record.name),
      namespace: cluster.namespace,
      labels: memberObjectLabels(cluster, record),
      annotations: claimIdentity(record),
    },
    spec: claimSpec(record.template),
  };
  return withGiven(claim, givenBy(cluster.spec?.metadata));
}

export function claimSpec({ storage }: MemberTemplate): NonNullable<PersistentVolumeClaim["spec"]> {
  const { size, className, accessModes = DEFAULT_MODES, selector } = storage;
  return {
    accessModes: [...accessModes],
    resources: { requests: { storage: canonicalQuantity(size) } },
    // Empty means without a class; absent means the default class, which is the server's to fill in.
    ...(className !== undefined && { storageClassName: className }),
    ...(selector && { selector: selector as LabelSelector }),
  };
}

const VOLUME_LABELS = [LABELS.cluster, LABELS.member, LABELS.clusterID, LABELS.memberID];
const VOLUME_ANNOTATIONS = [
  ANNOTATIONS.token,
  ANNOTATIONS.peerURL,
  ANNOTATIONS.etcdVersion,
  ANNOTATIONS.lastUsed,
];

/** For a PersistentVolume that outlived its claim: just that volume, with what is written on it. */
export function claimOfVolume(
  { namespace }: Pick<Identity, "namespace">,
  member: string,
  { metadata, spec }: PersistentVolume,
): PersistentVolumeClaim {
  const copied = (from: Readonly<Record<string, string>> = {}, names: readonly string[]) =>
    Object.fromEntries(names.flatMap((one) => (from[one] === undefined ? [] : [[one, from[one]]])));
  return {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: {
      name: claimName(member),
      namespace,
      labels: copied(metadata?.labels, VOLUME_LABELS),
      annotations: copied(metadata?.annotations, VOLUME_ANNOTATIONS),
    },
    spec: {
      accessModes: spec?.accessModes ?? [...DEFAULT_MODES],
      resources: { requests: { storage: spec?.capacity?.["storage"] ?? "0" } },
      // Empty, so that no default class is filled in.
      storageClassName: spec?.storageClassName ?? "",
      ...(spec?.volumeMode !== undefined && { volumeMode: spec.volumeMode }),
      volumeName: metadata?.name ?? "",
    },
  };
}

/** The size that the claim has to ask for from now on; undefined when it already asks for as much. */
export function wantedClaimSize(record: MemberRecord, claim: PersistentVolumeClaim): string | undefined {
  const wanted = record.template.storage.size;
  const asked = claim.spec?.resources?.requests?.["storage"];
  if (asked !== undefined && bytesOf(asked) >= bytesOf(wanted)) return undefined;
  return canonicalQuantity(wanted);
}
