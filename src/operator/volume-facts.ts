/**
 * What a member's volume is, by its medium: a claim; the Pod itself, whose memory or disk ends with it (H4);
 * or a directory on the node that the Pod is bound to.
 */
import type { Node, PersistentVolumeClaim, Pod } from "kubernetes-types/core/v1.d.ts";
import type { StorageClass } from "kubernetes-types/storage/v1.d.ts";
import type { VolumeFacts } from "../core/observation.ts";
import type { MemberRecord } from "../core/record.ts";

export interface VolumeObjects {
  readonly claim?: PersistentVolumeClaim;
  readonly pod?: Pod;
  readonly nodes?: ReadonlyMap<string, Node>;
  /** By name; undefined when they cannot be read. */
  readonly classes?: ReadonlyMap<string, StorageClass>;
}

export function volumeOf(record: MemberRecord, objects: VolumeObjects): VolumeFacts {
  switch (record.template.storage.medium) {
    case "Persistent":
      return claimFacts(record, objects);
    case "Memory":
    case "Ephemeral":
      return podFacts(objects.pod);
    case "HostPath":
      return hostFacts(record, objects);
  }
}

function claimFacts(record: MemberRecord, { claim, classes }: VolumeObjects): VolumeFacts {
  const uid = claim?.metadata?.uid;
  if (!claim || uid === undefined) return { state: "absent" };
  // Nobody may start on what is about to go; who has started there keeps it until it is gone.
  if (claim.metadata?.deletionTimestamp !== undefined && record.volumeUID === undefined)
    return { state: "pending", reason: "its claim is being deleted" };
  switch (claim.status?.phase) {
    case "Bound":
      return { state: "ready", uid };
    case "Lost":
      return { state: "unreachable", uid, reason: `the PersistentVolume ${claim.spec?.volumeName} is gone` };
    default:
      return waitsForPod(claim, classes) ? { state: "ready", uid } : pending(claim);
  }
}

/**
 * Most classes bind a claim when the first Pod that uses it is placed: waiting for it to be bound before the
 * Pod is made would be waiting for ever. The claim is the volume's identity from the moment it exists.
 */
function waitsForPod(claim: PersistentVolumeClaim, classes: VolumeObjects["classes"]): boolean {
  const name = claim.spec?.storageClassName;
  if (!name) return false;
  return !classes || classes.get(name)?.volumeBindingMode === "WaitForFirstConsumer";
}

function pending(claim: PersistentVolumeClaim): VolumeFacts {
  const name = claim.spec?.storageClassName;
  const reason = name
    ? `its claim waits for a volume of class ${name}`
    : "its claim has no storage class, and the cluster has no default one";
  return { state: "pending", reason };
}

function podFacts(pod: Pod | undefined): VolumeFacts {
  const uid = pod?.metadata?.uid;
  return uid === undefined ? { state: "absent" } : { state: "ready", uid };
}

/** The directory is named after the record's UID, so that the two are one. */
function hostFacts({ uid }: MemberRecord, { pod, nodes }: VolumeObjects): VolumeFacts {
  const node = pod?.spec?.nodeName;
  if (node && nodes && !nodes.has(node))
    return { state: "unreachable", uid, reason: `its node ${node} is gone` };
  return { state: "ready", uid };
}
