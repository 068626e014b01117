/**
 * What the Pods of a recovery say: what a member's volume holds, and how far the rescue is. They tell it in the
 * termination messages of their containers, so that they need no right in Kubernetes.
 */
import type { ContainerStatus, Pod } from "kubernetes-types/core/v1.d.ts";
import type { PlatformMember } from "../../control/platform.ts";
import type { ClusterFacts, MemberDirectory, OperationFacts, PlatformFacts } from "../../core/observation.ts";
import type { RestoreSource } from "../../api/bootstrap.ts";
import { isFinished } from "../../core/operations/status.ts";
import type { MemberRecord } from "../../core/record.ts";
import { isVolatile } from "../../core/template/template.ts";
import { isControlledBy } from "../../kube/resources.ts";
import { snapshotOn } from "../../recovery/places.ts";
import { parseSummary } from "../../recovery/summary.ts";
import { parseResult } from "../../snapshot/result.ts";
import { ANNOTATIONS, claimName, LABELS, RECOVERY_CONTAINERS } from "../names.ts";
import { approvalOf, type RecoveryTask } from "../render/recovery-pods.ts";

/** A volume that nobody could mount for so long is out of reach. */
const UNREACHABLE_MS = 5 * 60_000;
/** Of a member that runs, a log may be read half written: read again after this time. */
const AGAIN_MS = 20_000;
/** A rescue that has not begun for so long does not begin. */
const NOT_BEGUN_MS = 10 * 60_000;

export interface RecoveryObjects {
  readonly cluster: ClusterFacts;
  /** Of the cluster, of whatever kind. */
  readonly pods: readonly Pod[];
  readonly members: readonly PlatformMember[];
  readonly operations: readonly OperationFacts[];
  /** By the API server's clock. */
  readonly now: number;
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
  const areStopped = objects.members.every((other) => other.workload.state === "absent");
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

function directoryOf(
  member: PlatformMember,
  objects: RecoveryObjects,
  isWanted: boolean,
): MemberDirectory | undefined {
  const { record, workload } = member;
  const reads = readingOf(member, objects);
  const waiting = (why: string) => (isWanted ? ({ state: "reading", why } as const) : undefined);
  if (reads === undefined)
    return workload.state === "stopping" ? waiting(`${record.name} is being stopped`) : undefined;
  const pod = inspectionOf(reads, objects);
  if (!pod) return waiting(`the Pod that reads the volume of ${record.name} is not there yet`);
  const read = resultIn(pod);
  // What is being written may look torn: of a process that has not ended only what can be read whole counts.
  if (read && (read.state === "data" || workload.state !== "running")) return read;
  const why = whyNot(pod);
  const isLate = ageOf(pod, objects.now) >= UNREACHABLE_MS;
  return isLate && workload.state !== "running" ? { state: "unreachable", why } : { state: "reading", why };
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

/** It came to nothing that counts: another one has to look again. */
export function isUseless(pod: Pod, member: PlatformMember, now: number): boolean {
  const { phase } = pod.status ?? {};
  if (phase !== "Succeeded" && phase !== "Failed") return false;
  const read = resultIn(pod);
  const counts = read && (read.state === "data" || member.workload.state !== "running");
  return !counts && ageOf(pod, now) >= AGAIN_MS;
}

function resultIn(pod: Pod): MemberDirectory | undefined {
  return parseSummary(containerIn(pod, RECOVERY_CONTAINERS.inspect)?.state?.terminated?.message);
}

function containerIn({ status }: Pod, name: string): ContainerStatus | undefined {
  return [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])].find(
    (one) => one.name === name,
  );
}

function ageOf({ metadata }: Pod, now: number): number {
  return now - (Date.parse(metadata?.creationTimestamp ?? "") || now);
}

/** Why its containers have not come to an end, or how they did. */
function whyNot(pod: Pod): string {
  const name = pod.metadata?.name ?? "";
  const { status } = pod;
  const unplaced = status?.conditions?.find((one) => one.type === "PodScheduled" && one.status === "False");
  if (unplaced) return `Pod ${name} cannot be scheduled: ${unplaced.message ?? unplaced.reason}`;
  const all = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  for (const { name: container, state } of all) {
    const { terminated, waiting } = state ?? {};
    if (terminated && terminated.exitCode !== 0) return `${container} failed: ${lastWords(terminated)}`;
    if (waiting?.reason !== undefined && !STARTING.has(waiting.reason))
      return `Pod ${name}: ${waiting.reason}${waiting.message === undefined ? "" : ` (${waiting.message})`}`;
  }
  if (status?.phase === "Failed")
    return `Pod ${name} failed: ${[status.reason, status.message].filter(Boolean).join(": ") || "no reason given"}`;
  const running = all.find(({ state }) => state?.running);
  return running ? `Pod ${name} runs ${running.name}` : `Pod ${name} is being started`;
}

const STARTING: ReadonlySet<string> = new Set(["ContainerCreating", "PodInitializing"]);

type Terminated = NonNullable<NonNullable<ContainerStatus["state"]>["terminated"]>;

function lastWords({ message = "", reason, exitCode }: Terminated): string {
  const told = parseResult(message);
  if (told && !told.ok) return told.message;
  return message.trim().split("\n").at(-1)?.trim() || `${reason ?? "Error"} (exit code ${exitCode})`;
}

/** The snapshot that was made for the approved plan, or how far that is. */
export function rescueFacts(
  objects: RecoveryObjects,
  directory: (record: MemberRecord) => string,
): Pick<PlatformFacts, "rescued" | "rescue"> {
  for (const operation of objects.operations) {
    const { task } = operation;
    if (task.kind !== "recoverQuorum" || isFinished(operation)) continue;
    const pods = objects.pods.filter(
      (pod) =>
        isRecoveryPod(pod, objects.cluster.uid, "rescue") &&
        pod.metadata?.annotations?.[ANNOTATIONS.plan] === approvalOf(task.approve, operation.uid),
    );
    const [latest] = pods.toSorted((a, b) => attemptOf(b) - attemptOf(a));
    if (latest) return rescueIn(latest, task.approve, objects, directory);
  }
  return {};
}

function attemptOf({ metadata }: Pod): number {
  return Number(metadata?.labels?.[LABELS.attempt]) || 1;
}

function rescueIn(
  pod: Pod,
  plan: string,
  { members, now }: RecoveryObjects,
  directory: (record: MemberRecord) => string,
): Pick<PlatformFacts, "rescued" | "rescue"> {
  const attempt = attemptOf(pod);
  const survivor = members.find(({ record }) => record.name === pod.metadata?.labels?.[LABELS.member]);
  const result = parseResult(containerIn(pod, RECOVERY_CONTAINERS.save)?.state?.terminated?.message);
  if (survivor && result?.ok && result.snapshot) {
    const { sha256, revision } = result.snapshot;
    const place = placeOf(survivor.record, plan, directory(survivor.record), pod.spec?.nodeName);
    return { rescued: { plan, ...place, sha256, revision } };
  }
  const why = whyNot(pod);
  // With one of its containers ended, nothing comes of it any more.
  const hasFailed = (containerIn(pod, RECOVERY_CONTAINERS.copy)?.state?.terminated?.exitCode ?? 0) !== 0;
  const ended =
    hasFailed ||
    [RECOVERY_CONTAINERS.etcd, RECOVERY_CONTAINERS.save].some(
      (name) => containerIn(pod, name)?.state?.terminated !== undefined,
    );
  const isStarted = [RECOVERY_CONTAINERS.copy, RECOVERY_CONTAINERS.etcd].some((name) => {
    const { running, terminated } = containerIn(pod, name)?.state ?? {};
    return running !== undefined || terminated !== undefined;
  });
  const failed =
    ended ||
    pod.status?.phase === "Failed" ||
    pod.metadata?.deletionTimestamp !== undefined ||
    (!isStarted && ageOf(pod, now) >= NOT_BEGUN_MS);
  return { rescue: { plan, attempt, state: failed ? "failed" : "running", why } };
}

/** A file on the survivor's claim; where its data is a directory of a node, a file of that node. */
function placeOf(
  { name, template }: MemberRecord,
  plan: string,
  directory: string,
  node: string | undefined,
): { source: RestoreSource; node?: string } {
  const path = snapshotOn(plan);
  if (template.storage.medium !== "HostPath")
    return { source: { pvc: { claimName: claimName(name), path } } };
  return { source: { file: { path: `${directory}/${path}` } }, ...(node !== undefined && { node }) };
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
