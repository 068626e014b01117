/**
 * What a member's volume is, by its medium: a claim; the Pod itself, whose memory or disk ends with it (H4);
 * or a directory on the node that the Pod is bound to.
 */
import type { Node, PersistentVolumeClaim, Pod } from "kubernetes-types/core/v1.d.ts";
import type { StorageClass } from "kubernetes-types/storage/v1.d.ts";
import type { VolumeFacts } from "../../core/observation.ts";
import type { MemberRecord } from "../../core/record.ts";
import { wantedClaimSize } from "../render/claim.ts";
import { directoryUID } from "../render/volumes.ts";
import type { Erasure } from "./erasure.ts";

export interface VolumeObjects {
  readonly claim?: PersistentVolumeClaim;
  readonly pod?: Pod;
  readonly nodes?: ReadonlyMap<string, Node>;
  /** By name; undefined when they cannot be read. */
  readonly classes?: ReadonlyMap<string, StorageClass>;
  /** With medium HostPath: the node that its directory is on, as far as it is known, and the directory. */
  readonly node?: string;
  readonly directory?: string;
  /** How far the deletion of that directory is. */
  readonly erasure?: Erasure;
  /** Why nobody knows whether its claim, or the Pod that is its volume, still exists. */
  readonly unread?: string;
  /** The member is on its way out: what is left of its volume is nobody's concern but the deletion's. */
  readonly ending?: boolean;
}

export function volumeOf(record: MemberRecord, objects: VolumeObjects): VolumeFacts {
  if (objects.unread !== undefined)
    return { state: "pending", reason: `could not check whether it still exists: ${objects.unread}` };
  switch (record.template.storage.medium) {
    case "Persistent":
      return claimFacts(record, objects);
    case "Memory":
    case "Ephemeral":
      return podFacts(objects);
    case "HostPath":
      return hostFacts(record, objects);
  }
}

function claimFacts(record: MemberRecord, { claim, classes, ending }: VolumeObjects): VolumeFacts {
  const uid = claim?.metadata?.uid;
  if (!claim || uid === undefined) return { state: "absent" };
  // Nobody may start on what is about to go; who has started there keeps it until it is gone, unless it goes too.
  if (claim.metadata?.deletionTimestamp !== undefined && (record.volumeUID === undefined || ending))
    return { state: "pending", reason: "its claim is being deleted" };
  switch (claim.status?.phase) {
    case "Bound":
      return { state: "ready", uid, ...growth(record, claim, classes) };
    case "Lost":
      return {
        state: "unreachable",
        uid,
        reason: `the PersistentVolume ${claim.spec?.volumeName} no longer exists`,
      };
    default:
      return waitsForPod(claim, classes) ? { state: "ready", uid } : pending(claim, uid, classes);
  }
}

/** Where classes cannot be read, the API server tells when the claim is to grow. */
function growth(
  record: MemberRecord,
  claim: PersistentVolumeClaim,
  classes: VolumeObjects["classes"],
): { tooSmall?: string } {
  const wanted = wantedClaimSize(record, claim);
  const name = claim.spec?.storageClassName ?? "";
  if (wanted === undefined || !classes || classes.get(name)?.allowVolumeExpansion === true) return {};
  return {
    tooSmall: `${wanted} are requested, but its storage class ${name || "(none)"} does not support expansion`,
  };
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

function pending(claim: PersistentVolumeClaim, uid: string, classes: VolumeObjects["classes"]): VolumeFacts {
  const name = claim.spec?.storageClassName;
  const missing =
    name && classes && !classes.has(name)
      ? ", which does not exist: create it, or set another spec.storage.className"
      : "";
  const reason = name
    ? `its claim is waiting for a volume of class ${name}${missing}`
    : name === ""
      ? `its claim is waiting for a PersistentVolume without a storage class: create one of at least ${claim.spec?.resources?.requests?.["storage"]} with the access mode ${claim.spec?.accessModes?.join(", ")}${claim.spec?.selector ? " and the labels of spec.storage.selector" : ""}`
      : "its claim has no storage class, and there is no default one: set spec.storage.className";
  return { state: "pending", reason, uid };
}

function podFacts({ pod, ending }: VolumeObjects): VolumeFacts {
  const uid = pod?.metadata?.uid;
  // On a lost node a Pod never ends; there is nothing to be deleted but the Pod itself.
  if (ending && pod?.metadata?.deletionTimestamp !== undefined)
    return { state: "pending", reason: "it is lost with its Pod" };
  return uid === undefined ? { state: "absent" } : { state: "ready", uid };
}

/** The directory is named after the record's UID, so that the two are one; an adopted one after that of its former life. */
function hostFacts(
  record: MemberRecord,
  { pod, nodes, node: pinned, directory, ending, erasure = NO_IMAGE }: VolumeObjects,
): VolumeFacts {
  const uid = directory === undefined ? record.uid : directoryUID(directory);
  const node = pod?.spec?.nodeName ?? pinned;
  // On a lost node a Pod never ends, and nothing waits for it.
  const isOver = !pod || pod.metadata?.deletionTimestamp !== undefined;
  if (ending && isOver) {
    // Without a node nothing was ever started in it.
    if (node === undefined) return { state: "absent" };
    const isGone = nodes !== undefined && !nodes.has(node);
    const where = `${directory ?? "its directory"} on ${node}`;
    return cleared(uid, where, isGone ? { is: "impossible", why: "the node no longer exists" } : erasure);
  }
  if (node && nodes && !nodes.has(node))
    return { state: "unreachable", uid, reason: `its node ${node} no longer exists` };
  return { state: "ready", uid };
}

/** Nothing of ours can run on the node to delete it with. */
const NO_IMAGE: Erasure = { is: "impossible", why: "the operator cannot delete it" };

function cleared(uid: string, where: string, erasure: Erasure): VolumeFacts {
  switch (erasure.is) {
    case "done":
      return { state: "absent" };
    case "impossible":
      return {
        state: "pending",
        reason: `its directory remains: ${where}`,
        remains: { where, why: erasure.why },
      };
    case "running": {
      const { is: _, ...clearing } = erasure;
      return { state: "pending", reason: "its directory is being deleted", clearing: { where, ...clearing } };
    }
    case "wanted":
      return {
        state: "pending",
        reason: "its directory is to be deleted",
        uid,
        ...(erasure.begun && { clearing: { where, ...erasure.begun } }),
      };
  }
}
