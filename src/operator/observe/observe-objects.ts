/**
 * Kubernetes objects → the part of an Observation that does not come from etcd. Pure: the objects are what
 * was read, in the API server's own JSON. Objects that only bear our names are reported and left alone (I9).
 */
import { isSamePeer } from "../../core/config/flags.ts";
import type { Node, PersistentVolumeClaim, Pod } from "kubernetes-types/core/v1.d.ts";
import type { ObjectMeta } from "kubernetes-types/meta/v1.d.ts";
import type { StorageClass } from "kubernetes-types/storage/v1.d.ts";
import type { EtcdMember } from "../../api/etcd-member.ts";
import type { EtcdOperation } from "../../api/etcd-operation.ts";
import type { ApiError } from "../../api/validate.ts";
import type { PlatformMember, PlatformState } from "../../control/platform.ts";
import type { Clash, ClusterFacts, NotMade, PlatformFacts } from "../../core/observation.ts";
import { isControlledBy } from "../../kube/resources.ts";
import { ordinalOf, type MemberAddress, type MemberRecord } from "../../core/record.ts";
import { isVolatile } from "../../core/template/template.ts";
import { clashOf } from "../apply/clashes.ts";
import { readCluster } from "../records/cluster-object.ts";
import { belongsTo, isFenced, recordOf } from "../records/member-object.ts";
import { operationsFor } from "../records/operation-object.ts";
import { ANNOTATIONS, claimName, LABELS, MEMBER_FINALIZER, memberAddress, ordinalInName } from "../names.ts";
import { erasePodName } from "../render/erase-pod.ts";
import { hostDirectory } from "../render/volumes.ts";
import type { Erasure } from "./erasure.ts";
import { nodeOf } from "./node-facts.ts";
import { workloadOf, type PodContext } from "./pod-facts.ts";
import { restoreOf, type RestoreContext } from "./restore-source.ts";
import { volumeOf } from "./volume-facts.ts";

/** Of the cluster's namespace; more than the cluster's own does no harm. */
export interface ClusterObjects {
  /** An EtcdCluster as the API server gave it. */
  readonly cluster: { readonly metadata?: { readonly uid?: string } };
  readonly members: readonly EtcdMember[];
  readonly pods: readonly Pod[];
  readonly claims: readonly PersistentVolumeClaim[];
  /** None where the API server does not serve them yet. */
  readonly operations?: readonly EtcdOperation[];
  /** At least those, of the existing ones, that a Pod is on or a member's directory; undefined where the operator may not read them. */
  readonly nodes?: readonly Node[];
  readonly storageClasses?: readonly StorageClass[];
}

export type ObservedObjects = { ok: true; state: PlatformState } | { ok: false; errors: ApiError[] };

/** More newcomers than this never join at once. */
const OFFERS = 12;

export interface ObservedAs
  extends Pick<PodContext, "now" | "endSeen" | "isResizable" | "notMade" | "transfers">, RestoreContext {
  readonly fenced: boolean;
  /** The operator's, for clusters that name none. */
  readonly imageRepository?: string | undefined;
  /** What peers dial newcomers by (H15). */
  readonly dialled?: "Service" | "Pod";
  /** Whether a restart in place would read the file of a member that has joined. */
  readonly isConfirmed?: (pod: Pod) => boolean;
  /** Clients were let in: their Service exists. */
  readonly opened?: boolean;
  /** Claims and Pods, by name, of which nobody knows whether they exist, and why. */
  readonly unread?: ReadonlyMap<string, string>;
  /** How far the deletion of a member's directory is; the Pod that does it, if there is one. */
  readonly erasure?: (member: EtcdMember, pod: Pod | undefined) => Erasure;
}

export function observeObjects(
  objects: ClusterObjects,
  {
    now,
    endSeen,
    fenced,
    isResizable,
    isConfirmed,
    notMade,
    transfers,
    unread,
    opened,
    dialled = "Service",
    imageRepository,
    image,
    snapshot,
    erasure,
  }: ObservedAs,
): ObservedObjects {
  const own = objects.members.filter(
    (member) => belongsTo(objects.cluster.metadata?.uid ?? "", member) && !isReleased(member),
  );
  const read = readCluster(objects.cluster, own, imageRepository);
  if (!read.ok) return read;
  const cluster = read.facts;
  const pods = byName(objects.pods);
  const claims = byName(objects.claims);
  const nodes = objects.nodes && byName(objects.nodes);
  const classes = objects.storageClasses && byName(objects.storageClasses);
  const clashes: Clash[] = [];
  const reported = (kind: string, object: KubeObject) => {
    const { name = "", namespace = "" } = object.metadata ?? {};
    clashes.push(clashOf(cluster.name, kind, { name, namespace }));
  };
  const members = own.map((object): PlatformMember => {
    const record = recordOf(object);
    const named = { pod: pods.get(record.name), claim: claims.get(claimName(record.name)) };
    const pod = named.pod && isControlledBy(named.pod, record.uid) ? named.pod : undefined;
    const claim = named.claim && isOurClaim(cluster.uid, record, named.claim) ? named.claim : undefined;
    if (named.pod && !pod) reported("Pod", named.pod);
    const takenClaim = named.claim && !claim && record.template.storage.medium === "Persistent";
    if (named.claim && takenClaim) reported("PersistentVolumeClaim", named.claim);
    const clash = clashes.find(({ member }) => member === record.name);
    const node = nodeOf(pod, nodes);
    // The data is in it, and it runs on, whoever it belongs to now.
    const takenPod = !pod && isVolatile(record.template) && named.pod?.metadata?.uid === record.volumeUID;
    return {
      record,
      deleting: object.metadata.deletionTimestamp !== undefined,
      ...(isFenced(object) && { fenced: true }),
      volume: volumeOf(record, {
        unread: takenClaim
          ? `${claimName(record.name)} belongs to another owner`
          : named.pod && takenPod
            ? `its Pod ${record.name} belongs to another owner`
            : unread?.get(isVolatile(record.template) ? record.name : claimName(record.name)),
        claim,
        pod,
        nodes,
        classes,
        node: object.metadata.annotations?.[ANNOTATIONS.node],
        ...(record.template.storage.medium === "HostPath" && {
          directory: hostDirectory(cluster, record, object.metadata.annotations?.[ANNOTATIONS.directory]),
          ...(erasure && { erasure: erasure(object, pods.get(erasePodName(record))) }),
        }),
        ending: cluster.deleting || record.leaving !== undefined,
      }),
      workload: workloadOf(pod, {
        record,
        nodes,
        now,
        endSeen,
        isResizable,
        notMade: (member) => (clash ? takenBy(clash) : notMade?.(member)),
        transfers,
      }),
      ...(node && { node }),
      ...(pod && record.joined && isConfirmed?.(pod) === false && { unconfirmed: true }),
    };
  });
  const sorted = members.toSorted((a, b) => a.record.ordinal - b.record.ordinal);
  const records = sorted.map(({ record }) => record);
  const highestLeftover = highestOrdinal(cluster.name, [
    ...objects.members,
    ...objects.pods,
    ...objects.claims,
  ]);
  const platform: Omit<PlatformFacts, "progressAt"> = {
    fenced,
    offers: offersFor(cluster, records, highestLeftover, dialled),
    highestLeftover,
    unavailableVersions: {},
    clashes,
    ...restoreOf(cluster.spec, { image, snapshot }),
    ...(opened !== undefined && { opened }),
  };
  const operations = operationsFor(cluster.uid, objects.operations ?? []);
  return { ok: true, state: { cluster, members: sorted, platform, operations } };
}

/** Its deletion is not ours to delay any more: it is as good as gone, whoever else still holds it. */
function isReleased({ metadata }: EtcdMember): boolean {
  return metadata.deletionTimestamp !== undefined && !metadata.finalizers?.includes(MEMBER_FINALIZER);
}

type KubeObject = { readonly metadata?: ObjectMeta };

function byName<T extends KubeObject>(objects: readonly T[]): ReadonlyMap<string, T> {
  return new Map(objects.map((object) => [object.metadata?.name ?? "", object]));
}

/** By its label, or because its member started on it: then the label was taken away. */
export function isOurClaim(
  clusterUID: string,
  { volumeUID }: Pick<MemberRecord, "volumeUID">,
  {
    metadata,
  }: { readonly metadata?: { readonly uid?: string; readonly labels?: Readonly<Record<string, string>> } },
): boolean {
  return (
    metadata?.labels?.[LABELS.clusterUID] === clusterUID ||
    (volumeUID !== undefined && metadata?.uid === volumeUID)
  );
}

/** An object that bears a name of ours but is somebody else's does not count, and is reported. */
export function takenBy({ object }: Pick<Clash, "object">): NotMade {
  return { reason: "NameClash", message: `${object} exists and belongs to another owner` };
}

/** Whoever they belong to: a name that is taken is not given out (H11). */
function highestOrdinal(cluster: string, objects: readonly { metadata?: { name?: string } }[]): number {
  return Math.max(0, ...objects.map(({ metadata }) => ordinalInName(cluster, metadata?.name ?? "")));
}

/** Addresses follow from ordinals: for founders that are planned but have no record yet, as planned, and for the next. */
function offersFor(
  cluster: ClusterFacts,
  records: readonly MemberRecord[],
  highestLeftover: number,
  dialled: "Service" | "Pod",
): PlatformFacts["offers"] {
  const known = new Set(records.map(({ ordinal }) => ordinal));
  const plan = records.filter(({ boot }) => boot === "New").flatMap(({ initialCluster }) => initialCluster);
  const planned = plan
    .flatMap(({ name }) => ordinalOf(cluster.name, name) ?? [])
    .filter((ordinal) => !known.has(ordinal));
  const highest = Math.max(cluster.marks.highestOrdinal, highestLeftover, ...planned);
  const next = Array.from({ length: OFFERS }, (_, index) => highest + 1 + index);
  return [...new Set([...planned, ...next])].map((ordinal) => {
    const [address, other] = [dialled, dialled === "Pod" ? ("Service" as const) : ("Pod" as const)].map(
      (by) => memberAddress(cluster, ordinal, by),
    ) as [MemberAddress, MemberAddress];
    return {
      ordinal,
      address: plan.some(({ peerURL }) => isSamePeer(peerURL, other.peerURL)) ? other : address,
    };
  });
}
