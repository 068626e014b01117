/** The status of a Pod from what its kubelet knows of its containers, in a kubelet's words. */
import { items, json, timestamp, type Json, type KubeJson } from "../object.ts";
import { withCondition } from "./conditions.ts";
import type { Ending } from "./hooks.ts";

export interface ContainerFacts {
  readonly name: string;
  readonly image: string;
  state:
    | { readonly is: "waiting"; readonly reason: string; readonly message?: string | undefined }
    | { readonly is: "running"; readonly since: number }
    | { readonly is: "ended"; readonly since: number; readonly at: number; readonly how: Ending };
  last: { readonly since: number; readonly at: number; readonly how: Ending } | undefined;
  restarts: number;
  ready: boolean;
  started: boolean;
  /** An init container that runs beside the others. */
  readonly sidecar: boolean;
}

export interface PodFacts {
  readonly ip: string | undefined;
  readonly hostIP: string;
  readonly startedAt: number;
  readonly init: readonly ContainerFacts[];
  readonly main: readonly ContainerFacts[];
  /** Set when the kubelet itself ended the Pod. */
  readonly evicted: string | undefined;
}

function terminated(since: number, at: number, { exitCode, reason, message }: Ending): Json {
  return {
    exitCode,
    reason: reason ?? (exitCode === 0 ? "Completed" : "Error"),
    ...(message !== undefined && { message }),
    startedAt: timestamp(since),
    finishedAt: timestamp(at),
  };
}

function containerStatus(facts: ContainerFacts): Json {
  const { name, image, state, last, restarts, ready, started } = facts;
  const reported =
    state.is === "waiting"
      ? { waiting: { reason: state.reason, ...(state.message !== undefined && { message: state.message }) } }
      : state.is === "running"
        ? { running: { startedAt: timestamp(state.since) } }
        : { terminated: terminated(state.since, state.at, state.how) };
  return {
    name,
    image,
    imageID: "",
    state: reported,
    lastState: last ? { terminated: terminated(last.since, last.at, last.how) } : {},
    ready,
    restartCount: restarts,
    started,
  };
}

export function podStatus(pod: KubeJson, facts: PodFacts, nowMs: number): Json {
  const before = json(pod["status"]);
  const now = timestamp(nowMs);
  const initialized = facts.init.every(({ state, sidecar }) =>
    sidecar ? state.is !== "waiting" : state.is === "ended" && state.how.exitCode === 0,
  );
  const isReady = initialized && facts.main.every(({ ready }) => ready) && facts.evicted === undefined;
  const reported = (type: string, holds: boolean, reason: string): Json => ({
    type,
    status: holds ? "True" : "False",
    ...(!holds && { reason }),
  });
  let conditions: readonly Json[] = items(before["conditions"]);
  for (const one of [
    reported("Initialized", initialized, "ContainersNotInitialized"),
    reported("ContainersReady", isReady, "ContainersNotReady"),
    reported("Ready", isReady, "ContainersNotReady"),
  ])
    conditions = withCondition(conditions, one, now);
  return {
    ...before,
    observedGeneration: pod.metadata.generation,
    phase: phaseOf(pod, facts, initialized),
    conditions,
    hostIP: facts.hostIP,
    startTime: timestamp(facts.startedAt),
    ...(facts.ip !== undefined && { podIP: facts.ip, podIPs: [{ ip: facts.ip }] }),
    ...(facts.init.length > 0 && { initContainerStatuses: facts.init.map(containerStatus) }),
    containerStatuses: facts.main.map(containerStatus),
    ...(facts.evicted !== undefined && { reason: "Evicted", message: facts.evicted }),
  };
}

function phaseOf(pod: KubeJson, { init, main, evicted }: PodFacts, initialized: boolean): string {
  if (evicted !== undefined) return "Failed";
  const policy = json(pod["spec"])["restartPolicy"];
  const failed = (facts: ContainerFacts) => facts.state.is === "ended" && facts.state.how.exitCode !== 0;
  if (policy === "Never" && init.some((facts) => !facts.sidecar && failed(facts))) return "Failed";
  const began = main.some(({ state, last }) => state.is !== "waiting" || last !== undefined);
  if (!initialized && !began) return "Pending";
  if (!began) return "Pending";
  const over = main.every(({ state }) => state.is === "ended");
  if (over && policy !== "Always")
    return main.some(failed) ? (policy === "Never" ? "Failed" : "Running") : "Succeeded";
  return "Running";
}
