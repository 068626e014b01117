/**
 * How far a Pod of a recovery is, and what keeps it from its work: with the scheduler's, the kubelet's or the container's
 * own words for a person, and a kind for what code has to tell apart.
 */
import type { ContainerStatus, Pod } from "kubernetes-types/core/v1.d.ts";
import type { ReadObstacle } from "../../core/observation.ts";
import { parseResult } from "../../snapshot/result.ts";
import { isLost, type Nodes } from "./node-facts.ts";

export interface Progress {
  readonly why: string;
  readonly obstacle?: ReadObstacle;
}

/** A volume that takes longer than this to be mounted is worth a look. */
const MOUNTED_WITHIN_MS = 60_000;

/** Why its containers have not come to an end, or how they did. */
export function progressOf(pod: Pod, now: number, nodes?: Nodes): Progress {
  const name = pod.metadata?.name ?? "";
  const { status } = pod;
  const unplaced = conditionOf(pod, "PodScheduled");
  if (unplaced?.status === "False")
    return {
      why: `Pod ${name} cannot be scheduled: ${unplaced.message ?? unplaced.reason}`,
      obstacle: "unschedulable",
    };
  const all = containersOf(pod);
  for (const { name: container, state } of all) {
    const { terminated, waiting } = state ?? {};
    if (terminated && terminated.exitCode !== 0)
      return { why: `${container} failed: ${lastWords(terminated)}` };
    if (waiting?.reason === undefined || STARTING.has(waiting.reason)) continue;
    const message = waiting.message === undefined ? "" : ` (${waiting.message})`;
    const isImage = IMAGE_REASONS.has(waiting.reason);
    return { why: `Pod ${name}: ${waiting.reason}${message}`, ...(isImage && { obstacle: "image" }) };
  }
  if (status?.phase === "Failed")
    return {
      why: `Pod ${name} failed: ${[status.reason, status.message].filter(Boolean).join(": ") || "no reason given"}`,
    };
  const node = silentNodeOf(pod, nodes);
  if (node !== undefined)
    return { why: `Pod ${name} is on ${node}, which does not answer`, obstacle: "node" };
  const running = all.find(({ state }) => state?.running);
  if (running) return { why: `Pod ${name} runs ${running.name}` };
  // The sandbox comes after the volumes: with it, it is the image that takes so long.
  const isMounted = conditionOf(pod, "PodReadyToStartContainers")?.status === "True";
  if (isMounted || pod.spec?.nodeName === undefined || ageOf(pod, now) < MOUNTED_WITHIN_MS)
    return { why: `Pod ${name} is being started` };
  return {
    why: `Pod ${name} waits for its volume on ${pod.spec.nodeName} (its events say why: kubectl describe pod ${name} -n ${pod.metadata?.namespace})`,
    obstacle: "mount",
  };
}

/** The node that it is on, where that does not report or is gone. */
export function silentNodeOf({ spec }: Pod, nodes: Nodes): string | undefined {
  const name = spec?.nodeName;
  return name !== undefined && nodes && isLost(nodes.get(name)) ? name : undefined;
}

export function containersOf({ status }: Pod): readonly ContainerStatus[] {
  return [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
}

export function containerIn(pod: Pod, name: string): ContainerStatus | undefined {
  return containersOf(pod).find((one) => one.name === name);
}

export function ageOf({ metadata }: Pod, now: number): number {
  return now - (Date.parse(metadata?.creationTimestamp ?? "") || now);
}

function conditionOf({ status }: Pod, type: string) {
  return status?.conditions?.find((one) => one.type === type);
}

const STARTING: ReadonlySet<string> = new Set(["ContainerCreating", "PodInitializing"]);

/** The kubelet's, when it has no image to start the container from. */
const IMAGE_REASONS: ReadonlySet<string> = new Set([
  "ErrImagePull",
  "ImagePullBackOff",
  "InvalidImageName",
  "ErrImageNeverPull",
  "ImageInspectError",
  "RegistryUnavailable",
  "SignatureValidationFailed",
]);

type Terminated = NonNullable<NonNullable<ContainerStatus["state"]>["terminated"]>;

function lastWords({ message = "", reason, exitCode }: Terminated): string {
  const result = parseResult(message);
  if (result && !result.ok) return result.message;
  return message.trim().split("\n").at(-1)?.trim() || `${reason ?? "Error"} (exit code ${exitCode})`;
}
