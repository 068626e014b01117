/**
 * A Job that works for a snapshot, and its Pods → how far it is and what it came to. The process tells its result in
 * the termination message of its container, so that it needs no right in Kubernetes.
 */
import type { Job, JobCondition } from "kubernetes-types/batch/v1.d.ts";
import type { ContainerStatus, Pod } from "kubernetes-types/core/v1.d.ts";
import type { EtcdSnapshotSpec } from "../../api/etcd-snapshot.ts";
import type { JobFacts, JobState, SnapshotTask, Transfer } from "../../core/snapshots/facts.ts";
import { isControlledBy } from "../../kube/resources.ts";
import { folderURI } from "../../snapshot/place.ts";
import { parseResult, type JobResult } from "../../snapshot/result.ts";
import { LABELS, VERIFY_CONTAINERS } from "../names.ts";

const TASKS: readonly SnapshotTask[] = ["save", "verify", "delete"];

/** What the Pod of this UID told last. */
export type Transfers = (uid: string) => Transfer | undefined;

export interface JobContext {
  /** It is compared with times that the API server and kubelets wrote. */
  readonly now: number;
  readonly transfers?: Transfers | undefined;
}

/** Undefined for a Job of another release that does something unknown. */
export function jobFacts(
  job: Job,
  pods: readonly Pod[],
  spec: Pick<EtcdSnapshotSpec, "destination">,
  { now, transfers }: JobContext,
): JobFacts | undefined {
  const { name = "", uid = "", labels, deletionTimestamp } = job.metadata ?? {};
  const task = TASKS.find((known) => known === labels?.[LABELS.task]);
  if (task === undefined) return undefined;
  const own = pods.filter((pod) => isControlledBy(pod, uid)).toSorted(byCreation);
  return {
    name,
    uid,
    task,
    attempt: Number(labels?.[LABELS.attempt]) || 1,
    deleting: deletionTimestamp !== undefined,
    state: stateOf(job, own, spec, { now, transfers }),
  };
}

/** Newest first. */
function byCreation(a: Pod, b: Pod): number {
  const [left = "", right = ""] = [a.metadata?.creationTimestamp, b.metadata?.creationTimestamp];
  return left < right ? 1 : left > right ? -1 : 0;
}

function stateOf(
  { status = {} }: Job,
  pods: readonly Pod[],
  { destination }: Pick<EtcdSnapshotSpec, "destination">,
  { now, transfers }: JobContext,
): JobState {
  const over = (type: string) => status.conditions?.find((one) => one.type === type && one.status === "True");
  const [complete, failed] = [over("Complete"), over("Failed")];
  const agoMs = (condition: JobCondition) =>
    Math.max(0, now - (Date.parse(condition.lastTransitionTime ?? "") || now));
  if (complete) {
    const result = pods.map(resultOf).find((one) => one?.ok);
    const { snapshot, verified } = result?.ok ? result : {};
    if (verified) return { is: "succeeded", agoMs: agoMs(complete), verified };
    const { object, ...facts } = snapshot ?? {};
    const taken = object !== undefined && { taken: { ...facts, uri: `${folderURI(destination)}${object}` } };
    return { is: "succeeded", agoMs: agoMs(complete), ...taken };
  }
  if (failed) return { is: "failed", agoMs: agoMs(failed), ...whyFailed(failed, pods) };
  const [latest] = pods;
  if (containersOf(latest).some(({ state }) => state?.running)) {
    const transfer = transfers?.(latest?.metadata?.uid ?? "");
    return { is: "running", pod: latest?.metadata?.name ?? "", ...(transfer && { transfer }) };
  }
  const why = whyWaiting(latest);
  return { is: "waiting", ...(why !== undefined && { why }) };
}

/** Those before the last one, and the last one, whose end is the Pod's. */
function containersOf(pod: Pod | undefined): readonly ContainerStatus[] {
  return [...(pod?.status?.initContainerStatuses ?? []), ...(pod?.status?.containerStatuses ?? [])];
}

/** What the last container said, or one before it that failed. */
function resultOf(pod: Pod): JobResult | undefined {
  const said = pod.status?.containerStatuses?.[0]?.state?.terminated?.message;
  return (
    parseResult(said) ??
    containersOf(pod)
      .map(messageOf)
      .map(parseResult)
      .find((one) => one?.ok === false)
  );
}

function messageOf({ state }: ContainerStatus): string | undefined {
  return state?.terminated?.message;
}

/** What the process itself said last, else what Kubernetes knows. */
function whyFailed(
  { reason = "", message = "" }: JobCondition,
  pods: readonly Pod[],
): { reason: string; message: string; reported: boolean } {
  const said = pods.map(resultOf).find((one) => one !== undefined && !one.ok);
  const words = said && !said.ok ? said.message : undefined;
  if (reason === "DeadlineExceeded") {
    const waited = whyWaiting(pods[0]);
    const last = words ?? waited;
    const late = `it took longer than spec.activeDeadlineSeconds${last === undefined ? "" : `; last: ${last}`}`;
    return { reason, message: late, reported: true };
  }
  if (said && !said.ok) return { reason: said.reason, message: said.message, reported: true };
  // The last one first: a sidecar is stopped with a signal when it has ended.
  const failed = containersOf(pods[0])
    .toReversed()
    .find(({ state }) => (state?.terminated?.exitCode ?? 0) !== 0);
  const ended = failed?.state?.terminated;
  if (ended && failed.name === VERIFY_CONTAINERS.etcdutl) {
    const last = ended.message?.trim().split("\n").at(-1) ?? "";
    const message = `etcdutl snapshot restore ended with exit code ${ended.exitCode}${last === "" ? "" : `: ${last}`}`;
    return { reason: "RestoreFailed", message, reported: true };
  }
  const how = ended
    ? `its container ended with ${ended.reason ?? "Error"} (exit code ${ended.exitCode})`
    : message;
  return { reason: "JobFailed", message: how === "" ? "the Job failed" : how, reported: false };
}

/** What every container waits for at first. */
const USUAL: ReadonlySet<string> = new Set(["ContainerCreating", "PodInitializing"]);

/** Why the newest Pod does not run: no node, no image, no volume, or how its container ended before. */
function whyWaiting(pod: Pod | undefined): string | undefined {
  const waiting = containersOf(pod)
    .map(({ state }) => state?.waiting)
    .find((one) => one?.reason !== undefined && !USUAL.has(one.reason));
  if (waiting)
    return `Pod ${pod?.metadata?.name}: ${waiting.reason}${waiting.message === undefined ? "" : ` (${waiting.message})`}`;
  const unplaced = pod?.status?.conditions?.find(
    ({ type, status }) => type === "PodScheduled" && status === "False",
  );
  if (unplaced)
    return `Pod ${pod?.metadata?.name} cannot be scheduled: ${unplaced.message ?? unplaced.reason}`;
  const said = pod && resultOf(pod);
  if (said && !said.ok) return `the last attempt failed: ${said.message}`;
  return undefined;
}
