/**
 * What the Pods say that read the members' volumes. They tell it in the termination messages of their containers, so that
 * they need no right in Kubernetes.
 */
import type { Pod } from "kubernetes-types/core/v1.d.ts";
import type { PlatformMember } from "../../control/platform.ts";
import { isEndedOff, isOnNodeOff } from "../../core/assess/nodes-off.ts";
import type { ClusterFacts, MemberDirectory, OperationFacts, ReadObstacle } from "../../core/observation.ts";
import type { MemberRecord } from "../../core/record.ts";
import { isVolatile } from "../../core/template/template.ts";
import { isControlledBy } from "../../kube/resources.ts";
import { parseSummary } from "../../recovery/summary.ts";
import { ANNOTATIONS, LABELS, RECOVERY_CONTAINERS } from "../names.ts";
import type { RecoveryTask } from "../render/recovery-pods.ts";
import { ageOf, containerIn, progressOf, type Progress } from "./helper-pod.ts";
import type { Nodes } from "./node-facts.ts";

/** A volume that nobody could mount for so long is out of reach. */
const UNREACHABLE_MS = 5 * 60_000;
/** Of a member that runs, a log may be read half written: read again after this time. */
const AGAIN_MS = 20_000;
/** So long the scheduler has for a member's own Pod before its volume is read elsewhere. */
const PLACED_WITHIN_MS = 60_000;

export interface RecoveryObjects {
  readonly cluster: ClusterFacts;
  /** Of the cluster, of whatever kind. */
  readonly pods: readonly Pod[];
  readonly members: readonly PlatformMember[];
  readonly operations: readonly OperationFacts[];
  readonly nodes?: Nodes;
  /** By the API server's clock. */
  readonly now: number;
  /** Why the Pod that reads the volume of this member could not be made, the last time that was tried. */
  readonly notMade?: (member: string) => string | undefined;
}

export function isRecoveryPod({ metadata }: Pod, clusterUID: string, task: RecoveryTask): boolean {
  return metadata?.labels?.[LABELS.task] === task && isControlledBy({ metadata }, clusterUID);
}

/** The operation that recovers the cluster now: it has begun, and the new life has not. */
export function runningRecovery({
  cluster,
  operations,
}: Pick<RecoveryObjects, "cluster" | "operations">): OperationFacts | undefined {
  return operations.find(
    (operation) =>
      operation.task.kind === "recoverQuorum" &&
      operation.status.phase === "Running" &&
      !operation.deleting &&
      operation.uid !== cluster.marks.recovered?.operation,
  );
}

/**
 * Which reading of its volume counts. Before a recovery: one that was made beside the present Pod, or without one. In a
 * recovery, once everybody has stopped: one that was made after that, whatever was read before. Undefined while there is
 * nothing to be read, or not yet.
 */
export function readingOf(
  member: PlatformMember,
  objects: Pick<RecoveryObjects, "cluster" | "members" | "operations" | "pods">,
): string | undefined {
  const { record, volume, workload } = member;
  if (isVolatile(record.template) || record.volumeUID === undefined) return undefined;
  if (volume.state !== "ready" || volume.uid !== record.volumeUID) return undefined;
  if (workload.state === "stopping") return undefined;
  const recovery = runningRecovery(objects);
  const areStopped = objects.members.every(
    (other) => other.workload.state === "absent" || isEndedOff(other, nodesOffBy(recovery)),
  );
  if (recovery && areStopped) return `${record.volumeUID} for ${recovery.uid}`;
  return `${record.volumeUID} beside ${podOf(record, objects.pods)?.metadata?.uid ?? "none"}`;
}

export function podOf(record: MemberRecord, pods: readonly Pod[]): Pod | undefined {
  return pods.find((pod) => pod.metadata?.name === record.name && isControlledBy(pod, record.uid));
}

/** What is known of each directory; `isWanted`: Pods that read them are there, or will be. */
export function directoriesOf(objects: RecoveryObjects, isWanted: boolean): Record<string, MemberDirectory> {
  const found = objects.members.flatMap((member) => {
    const directory = directoryOf(member, objects, isWanted);
    return directory ? [[member.record.name, directory] as const] : [];
  });
  return Object.fromEntries(found);
}

function nodesOffBy(recovery: OperationFacts | undefined): readonly string[] {
  return (recovery?.task.kind === "recoverQuorum" && recovery.task.nodesOff) || [];
}

function directoryOf(
  member: PlatformMember,
  objects: RecoveryObjects,
  isWanted: boolean,
): MemberDirectory | undefined {
  const { record, workload } = member;
  // It is not read elsewhere: by what the person said, what it holds is out of reach.
  if (isOnNodeOff(member, nodesOffBy(runningRecovery(objects))))
    return { state: "unreachable", why: `${member.node?.name} was said to be off in the approval` };
  const reads = readingOf(member, objects);
  const waiting = (progress: Progress) =>
    isWanted ? ({ state: "reading", ...progress } as const) : undefined;
  if (reads === undefined)
    return workload.state === "stopping" ? waiting({ why: `${record.name} is being stopped` }) : undefined;
  const pod = inspectionOf(reads, objects);
  if (!pod) return waiting(whyUnread(member, objects));
  const read = resultIn(pod);
  // What is being written may look torn: of a process that has not ended only what can be read whole counts.
  if (read && (read.state === "data" || workload.state !== "running")) return read;
  const progress = unread(pod, objects);
  return workload.state === "running" ? { ...progress, state: "reading" } : progress;
}

function unread(
  pod: Pod,
  { now, nodes }: Pick<RecoveryObjects, "now" | "nodes">,
): Progress & { readonly state: "reading" | "unreachable" } {
  const progress = progressOf(pod, now, nodes);
  const isLate = ageOf(pod, now) >= UNREACHABLE_MS;
  const isAway = progress.obstacle !== undefined && OF_THE_VOLUME.has(progress.obstacle);
  return { ...progress, state: isLate && isAway ? "unreachable" : "reading" };
}

/** What says nothing about the volume, such as an image that cannot be pulled, never makes its data count as lost. */
const OF_THE_VOLUME: ReadonlySet<ReadObstacle> = new Set(["unschedulable", "mount", "node"]);

/** Why there is no Pod that reads its volume. */
function whyUnread(member: PlatformMember, objects: RecoveryObjects): Progress {
  const { name } = member.record;
  const early = isTooEarly(member, objects);
  if (early) return early;
  const refused = objects.notMade?.(name);
  return refused === undefined
    ? { why: `the Pod that reads the volume of ${name} is not there yet` }
    : { why: refused, obstacle: "refused" };
}

/** Why its volume is not to be read now, although it could tell something. */
export function isTooEarly(
  { record, node }: PlatformMember,
  { pods, now }: Pick<RecoveryObjects, "pods" | "now">,
): Progress | undefined {
  // It would be put there, and stay.
  if (node?.kubelet === "silent") return { why: `${node.name} does not report`, obstacle: "node" };
  const pod = podOf(record, pods);
  if (!pod || hasEnded(pod)) return undefined;
  if (pod.spec?.nodeName !== undefined)
    return isForOnePod(record)
      ? {
          why: `${record.name} runs on ${pod.spec.nodeName}, and no other Pod may mount its volume (ReadWriteOncePod)`,
          obstacle: "in-use",
        }
      : undefined;
  // Read on another node, the volume could not be attached where the scheduler puts its own Pod a moment later.
  return ageOf(pod, now) < PLACED_WITHIN_MS
    ? { why: `the Pod of ${record.name} is being scheduled` }
    : undefined;
}

function isForOnePod({ template: { storage } }: MemberRecord): boolean {
  return storage.medium === "Persistent" && storage.accessModes?.includes("ReadWriteOncePod") === true;
}

export function hasEnded({ status }: Pod): boolean {
  return status?.phase === "Succeeded" || status?.phase === "Failed";
}

/** What a Pod says that looks into a volume on which nothing runs. */
export function readBy(pod: Pod, now: number): MemberDirectory {
  return resultIn(pod) ?? unread(pod, { now });
}

/** It has ended without a result, a while ago. */
export function hasFailed(pod: Pod, now: number): boolean {
  return hasEnded(pod) && !resultIn(pod) && ageOf(pod, now) >= AGAIN_MS;
}

export function inspectionOf(
  reads: string,
  { pods, cluster }: Pick<RecoveryObjects, "pods" | "cluster">,
): Pod | undefined {
  return pods.find(
    (pod) =>
      isRecoveryPod(pod, cluster.uid, "inspect") && pod.metadata?.annotations?.[ANNOTATIONS.reads] === reads,
  );
}

/** It came to nothing that counts, or keeps the volume from its member's own Pod: another one has to look again. */
export function isUseless(
  pod: Pod,
  { record, workload }: PlatformMember,
  { pods, now }: Pick<RecoveryObjects, "pods" | "now">,
): boolean {
  if (!hasEnded(pod)) {
    const [here, there] = [pod, podOf(record, pods)].map((one) => one?.spec?.nodeName);
    return here !== undefined && there !== undefined && here !== there;
  }
  const read = resultIn(pod);
  const counts = read && (read.state === "data" || workload.state !== "running");
  return !counts && ageOf(pod, now) >= AGAIN_MS;
}

function resultIn(pod: Pod): MemberDirectory | undefined {
  return parseSummary(containerIn(pod, RECOVERY_CONTAINERS.inspect)?.state?.terminated?.message);
}

/** Why a cluster cannot be recovered from its volumes here; undefined where it can. */
export function recoveryRefused(
  members: readonly PlatformMember[],
  image: string | undefined,
): string | undefined {
  const volatile = members.filter(({ record }) => isVolatile(record.template));
  if (volatile.length > 0)
    return `the data of ${volatile.map(({ record }) => record.name).join(", ")} is in its Pod and would be lost if that were stopped: take a snapshot of a member that still runs (EtcdSnapshot), and restore it into a new cluster`;
  return image === undefined
    ? "the operator does not know its own image, which reads the volumes: start it with --image or QUORATE_IMAGE"
    : undefined;
}
