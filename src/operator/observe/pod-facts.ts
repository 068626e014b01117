/**
 * What a Pod says of its member's workload. A Pod tells more than a process: why it cannot be placed, why its
 * image does not come, how its last container ended, and that it hangs on a node that is gone.
 */
import type { ContainerStatus, Node, Pod } from "kubernetes-types/core/v1.d.ts";
import type { NotMade, WorkloadFacts } from "../../core/observation.ts";
import type { MemberRecord } from "../../core/record.ts";
import { isVolatile, sameStart } from "../../core/template/template.ts";
import { ANNOTATIONS, ETCD_CONTAINER } from "../names.ts";
import type { EndSeen, EndsSeen } from "./ends-seen.ts";
import { isLost } from "./node-facts.ts";
import { etcdEnding, initEnding, type Ending } from "./pod-exit.ts";
import type { Transfers } from "./job-facts.ts";
import { restoreFacts } from "./restore-facts.ts";

export interface PodContext {
  readonly record: MemberRecord;
  /** By name; undefined when nodes cannot be read, and then none counts as lost. */
  readonly nodes?: ReadonlyMap<string, Node>;
  /** By the API server's clock. */
  readonly now: number;
  /** How long this end of a container has been known to us; where that is not said, for long. */
  readonly endSeen?: EndsSeen["see"];
  /** Whether the resources of this Pod can be changed while it runs. */
  readonly isResizable?: (pod: Pod, record: MemberRecord) => boolean;
  /** Why the Pod of this member could not be made, the last time that was tried. */
  readonly notMade?: (member: string) => NotMade | undefined;
  /** How much of a snapshot this Pod has read, by its UID. */
  readonly transfers?: Transfers | undefined;
}

const LONG_KNOWN: EndSeen = { agoMs: Infinity, beforeJoining: false };

export function workloadOf(pod: Pod | undefined, context: PodContext): WorkloadFacts {
  if (!pod) {
    const notMade = context.notMade?.(context.record.name);
    return { state: "absent", ...(notMade && { notMade }) };
  }
  if (pod.metadata?.deletionTimestamp !== undefined) return stopping(pod, context);
  const phase = pod.status?.phase;
  // With restartPolicy Always only an eviction or the end of its node finishes a Pod.
  if (phase === "Failed" || phase === "Succeeded") return finished(pod, context.record);
  const etcd = pod.status?.containerStatuses?.find(({ name }) => name === ETCD_CONTAINER);
  const init = pod.status?.initContainerStatuses?.find(hasNotSucceeded);
  const start = startOfWaiting(pod, context.record);
  if (init)
    return (
      restoreFacts(pod, init, startOf(pod) ?? "", context.transfers) ?? started(pod, init, start, initEnding)
    );
  if (isGated(pod, context.record)) return { state: "waiting", ...placement(pod) };
  if (!etcd) return { state: "waiting", ...placement(pod), ...start };
  const facts = started(pod, etcd, start, (terminated) =>
    etcdEnding(terminated, {
      record: context.record,
      seen: context.endSeen?.(pod, terminated, context.record.joined) ?? LONG_KNOWN,
      restarts: etcd.restartCount,
    }),
  );
  if (facts.state !== "running") return facts;
  const resizable = context.isResizable?.(pod, context.record);
  const lostNode = context.nodes && lostNodeOf(pod, context.nodes);
  return { ...facts, ...(resizable && { resizable }), ...(lostNode !== undefined && { lostNode }) };
}

function started(
  pod: Pod,
  status: ContainerStatus,
  start: { readonly startedFrom?: string },
  ending: (terminated: NonNullable<ContainerStatus["lastState"]>["terminated"] & object) => Ending,
): WorkloadFacts {
  const { state, lastState, restartCount: restarts } = status;
  const startedFrom = startOf(pod) ?? "";
  if (state?.running) {
    const lastEnd = lastState?.terminated && ending(lastState.terminated);
    const since = time(state.running.startedAt, pod);
    const ready = status.ready && isByItsKubelet(pod);
    return { state: "running", since, startedFrom, restarts, ...(lastEnd && { lastEnd }), ready };
  }
  // Between two attempts the kubelet shows a wait and keeps the end in lastState.
  const ended = state?.terminated ?? (isBackOff(status) ? lastState?.terminated : undefined);
  if (ended)
    return { state: "exited", since: time(ended.finishedAt, pod), startedFrom, restarts, ...ending(ended) };
  const { reason = "", message } = state?.waiting ?? {};
  if (reason === "") return { state: "waiting", ...placement(pod), ...start };
  const since = time(conditionOf(pod, "PodScheduled")?.lastTransitionTime, pod);
  const why = join(reason, message);
  const badImage = isBadImage(reason, message);
  return { state: "waiting", reason: why, ...(badImage && { badImage }), since, ...start };
}

/** Reasons by which a kubelet gives a container no image (kubelet: pkg/kubelet/images/types.go). */
const IMAGE_REASONS: ReadonlySet<string> = new Set([
  "ErrImagePull",
  "ImagePullBackOff",
  "ErrImageNeverPull",
  "ImageInspectError",
  "InvalidImageName",
  "RegistryUnavailable",
  "SignatureValidationFailed",
]);

/** An image that would run as root against the Pod's will has no reason of its own, only the kubelet's words. */
function isBadImage(reason: string, message = ""): boolean {
  return (
    IMAGE_REASONS.has(reason) ||
    (reason === "CreateContainerConfigError" && /\brunAsNonRoot and image\b/.test(message))
  );
}

/**
 * Whether the readiness of a container still holds. Not that of the Pod: a readiness gate or a sidecar that is not
 * ready says nothing about etcd. But when a node is lost, all that changes is the condition of the Pod, to False
 * without one of the kubelet's reasons, or to Unknown.
 */
function isByItsKubelet(pod: Pod): boolean {
  const { status, reason = "" } = conditionOf(pod, "Ready") ?? {};
  return status === "True" || (status === "False" && KUBELETS_REASONS.has(reason));
}

const KUBELETS_REASONS: ReadonlySet<string> = new Set(["ContainersNotReady", "ReadinessGatesNotReady"]);

function isBackOff({ state }: ContainerStatus): boolean {
  return state?.waiting?.reason === "CrashLoopBackOff";
}

/** A sidecar among the init containers runs on and is no obstacle. */
function hasNotSucceeded({ state, started: runs }: ContainerStatus): boolean {
  return state?.terminated?.exitCode !== 0 && runs !== true;
}

/**
 * A Pod that is its member's volume exists before its record permits it (H4). It has started from nothing yet, and
 * will start with the list of that moment; only another template makes it the wrong Pod.
 */
function isGated(pod: Pod, record: MemberRecord): boolean {
  if ((pod.spec?.schedulingGates?.length ?? 0) === 0) return false;
  return sameStart(startOf(pod) ?? "", { ...record, joined: true });
}

/** Where the scheduler stands with it. */
function placement(pod: Pod): { reason: string; since: number; unschedulable?: boolean } {
  const scheduled = conditionOf(pod, "PodScheduled");
  if (scheduled?.status !== "False")
    return { reason: "its Pod is being scheduled", since: time(undefined, pod) };
  const { reason = "Unschedulable" } = scheduled;
  return {
    reason: join(reason, scheduled.message),
    ...(reason === "Unschedulable" && { unschedulable: true }),
    since: time(scheduled.lastTransitionTime, pod),
  };
}

function finished(pod: Pod, record: MemberRecord): WorkloadFacts {
  const status = pod.status?.containerStatuses?.find(({ name }) => name === ETCD_CONTAINER);
  const disruption = conditionOf(pod, "DisruptionTarget");
  const why = join(
    pod.status?.reason ?? "its Pod has terminated",
    pod.status?.message ?? disruption?.message,
  );
  const { medium } = record.template.storage;
  const dataEnded = medium === "Memory" || medium === "Ephemeral";
  return {
    state: "exited",
    since: time(status?.state?.terminated?.finishedAt ?? disruption?.lastTransitionTime, pod),
    startedFrom: startOf(pod) ?? "",
    restarts: status?.restartCount ?? 0,
    cause: dataEnded ? "data-missing" : "killed",
    detail: dataEnded ? `${why}; its data was lost with the Pod` : why,
    ended: true,
  };
}

function stopping(pod: Pod, { nodes, now }: PodContext): WorkloadFacts {
  const due = time(pod.metadata?.deletionTimestamp, pod);
  const since = due - 1000 * (pod.metadata?.deletionGracePeriodSeconds ?? 0);
  // Until then the kubelet has time, and no answer means nothing.
  const overdue = now > due;
  const lostNode = nodes && overdue ? lostNodeOf(pod, nodes) : undefined;
  return {
    state: "stopping",
    since,
    ...optionalStart(pod),
    ...(overdue && { overdue }),
    ...(lostNode !== undefined && { lostNode }),
  };
}

/** A node that is gone, was declared gone, or does not report: it will not confirm that the Pod ended. */
function lostNodeOf(pod: Pod, nodes: ReadonlyMap<string, Node>): string | undefined {
  const name = pod.spec?.nodeName;
  if (!name) return undefined;
  return isLost(nodes.get(name)) ? name : undefined;
}

function conditionOf(pod: Pod, type: string) {
  return pod.status?.conditions?.find((condition) => condition.type === type);
}

/**
 * Each Pod is made with it: one that lost it may have been started from anything, and is out of date. Not so where data
 * of an earlier run may be in the Pod itself, and would end with it (H4).
 */
function startOfWaiting(pod: Pod, { joined, template }: MemberRecord): { startedFrom?: string } {
  const startedFrom = startOf(pod);
  if (startedFrom === undefined && joined && isVolatile(template)) return {};
  return { startedFrom: startedFrom ?? "" };
}

function startOf(pod: Pod): string | undefined {
  return pod.metadata?.annotations?.[ANNOTATIONS.startedFrom];
}

function optionalStart(pod: Pod): { startedFrom?: string } {
  const startedFrom = startOf(pod);
  return startedFrom === undefined ? {} : { startedFrom };
}

function time(at: string | undefined, pod: Pod): number {
  return Date.parse(at ?? pod.metadata?.creationTimestamp ?? "") || 0;
}

function join(reason: string, message: string | undefined): string {
  return message ? `${reason}: ${message}` : reason;
}
