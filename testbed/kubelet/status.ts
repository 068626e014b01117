/**
 * The status of a Pod, from the states of its containers. Pure, with a kubelet's rules.
 */
import type { ContainerStatus, Pod, PodCondition, PodStatus } from "kubernetes-types/core/v1.d.ts";

export interface Seen {
  podIP?: string;
  hostIP: string;
  startTime: string;
  init: ContainerStatus[];
  main: ContainerStatus[];
}

/** Newer than the published types. */
type Generation = { observedGeneration?: number };

export function podStatus(pod: Pod, seen: Seen, now: string): PodStatus & Generation {
  const observed: Generation = pod.metadata?.generation
    ? { observedGeneration: pod.metadata.generation }
    : {};
  return {
    ...observed,
    phase: phase(pod, seen),
    conditions: conditions(pod, seen, now).map((condition) => ({ ...condition, ...observed })),
    hostIP: seen.hostIP,
    hostIPs: [{ ip: seen.hostIP }],
    startTime: seen.startTime,
    ...(seen.podIP && { podIP: seen.podIP, podIPs: [{ ip: seen.podIP }] }),
    initContainerStatuses: seen.init,
    containerStatuses: seen.main,
  };
}

function isSidecar(pod: Pod, name: string): boolean {
  return pod.spec?.initContainers?.some((c) => c.name === name && c.restartPolicy === "Always") ?? false;
}

export function initialized(pod: Pod, { init }: Seen): boolean {
  return init.every((c) =>
    isSidecar(pod, c.name) ? c.started === true : c.state?.terminated?.exitCode === 0,
  );
}

function phase(pod: Pod, seen: Seen): string {
  const policy = pod.spec?.restartPolicy ?? "Always";
  const initFailed = seen.init.some(
    (c) => (c.state?.terminated?.exitCode ?? 0) !== 0 && !isSidecar(pod, c.name),
  );
  if (initFailed && policy === "Never") return "Failed";
  const began = seen.main.some((c) => c.state?.running || c.state?.terminated || c.lastState?.terminated);
  if (!initialized(pod, seen) && !began) return "Pending";
  let running = 0;
  let failed = 0;
  for (const { state, lastState } of seen.main) {
    if (state?.running) running++;
    else if (state?.terminated) failed += state.terminated.exitCode === 0 ? 0 : 1;
    else if (lastState?.terminated) failed += lastState.terminated.exitCode === 0 ? 0 : 1;
    else return "Pending";
  }
  if (running > 0 || policy === "Always") return "Running";
  if (failed === 0) return "Succeeded";
  return policy === "Never" ? "Failed" : "Running";
}

function conditions(pod: Pod, seen: Seen, now: string): PodCondition[] {
  const before = new Map((pod.status?.conditions ?? []).map((c) => [c.type, c]));
  const done = ["Succeeded", "Failed"].includes(phase(pod, seen));
  const condition = (type: string, ok: boolean, reason?: string, message?: string): PodCondition => {
    const status = ok ? "True" : "False";
    const old = before.get(type);
    const since = old?.status === status ? old.lastTransitionTime : undefined;
    return {
      type,
      status,
      lastTransitionTime: since ?? now,
      ...(!ok && reason && { reason, message: message ?? "" }),
    };
  };
  const unready = [...seen.main, ...seen.init.filter((c) => isSidecar(pod, c.name))]
    .filter((c) => !c.ready)
    .map((c) => c.name);
  const gates = (pod.spec?.readinessGates ?? []).filter(
    (gate) => before.get(gate.conditionType)?.status !== "True",
  );
  const notReady = done ? "PodCompleted" : "ContainersNotReady";
  const names = `containers with unready status: [${unready.join(" ")}]`;
  const waiting = seen.init.filter((c) => c.state?.terminated?.exitCode !== 0).map((c) => c.name);
  return [
    condition("PodReadyToStartContainers", seen.podIP !== undefined && !done),
    condition(
      "Initialized",
      initialized(pod, seen),
      "ContainersNotInitialized",
      `incomplete: [${waiting.join(" ")}]`,
    ),
    condition("ContainersReady", unready.length === 0, notReady, names),
    unready.length > 0
      ? condition("Ready", false, notReady, names)
      : condition(
          "Ready",
          gates.length === 0,
          "ReadinessGatesNotReady",
          gates.map((g) => g.conditionType).join(" "),
        ),
    condition("PodScheduled", true),
  ];
}
