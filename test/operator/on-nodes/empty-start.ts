/**
 * Trials with emptied volumes on real nodes: a cluster, the moment in which one of its members has joined, a wait,
 * and then its directory is emptied and its process killed, so that its kubelet restarts it in place. What is
 * looked at is the next process in that Pod: whether it made a log of its own, under the identity that it had.
 */
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Pod } from "kubernetes-types/core/v1.d.ts";
import type { EtcdCluster } from "../../../src/api/etcd-cluster.ts";
import type { EtcdMember } from "../../../src/api/etcd-member.ts";
import { serviceNames } from "../../../src/operator/names.ts";
import { PATHS as IN_POD } from "../../../src/operator/render/config.ts";
import { isCode } from "../../../testbed/client.ts";
import { eventually } from "../../../testbed/eventually.ts";
import type { TestTestbed } from "../../../testbed/for-tests.ts";
import { onNode } from "../../../testbed/nodes/node.ts";
import { bedPaths } from "../../../testbed/paths.ts";
import { PATHS } from "../../support/kube-paths.ts";
import type { Lab } from "../../testbed/on-nodes/lab.ts";

export const MEDIA = ["Persistent", "Memory", "Ephemeral", "HostPath"] as const;
export type Medium = (typeof MEDIA)[number];

/** Many clusters at once take their time. */
const PATIENCE = { withinMs: 240_000, everyMs: 50 };
/** A key of the application, written as soon as it can. */
const KEY = "before";

export interface Ground {
  readonly bed: TestTestbed;
  readonly lab: Lab;
}

export interface Trial {
  readonly name: string;
  readonly medium: Medium;
  readonly replicas: 1 | 3;
  /** The ordinal of the member that loses its data. */
  readonly victim: number;
  /** Between the moment at which the victim has joined and the loss of its data. */
  readonly waitMs: number;
}

export interface Outcome {
  /** From "it has joined" to the new file on its node; -1 if it lost its data before. */
  readonly fileMs: number;
  /** From "it has joined" to the client Service. */
  readonly openMs: number | undefined;
  /** The victim made a log of its own in the emptied directory. */
  readonly startedEmpty: boolean;
  /** Clients had been let in when the data was lost. */
  readonly open: boolean;
  /** The reason of Available once the operator knows; `Quorum` when it is well again. */
  readonly reported: string;
  /** Of three, and before clients were let in: it had caught up before the operator saw it empty, and was kept. */
  readonly kept: boolean;
}

export function specOf({ name, medium, replicas }: Pick<Trial, "name" | "medium" | "replicas">): object {
  const storage = {
    Persistent: { size: "1Gi", retention: { onDelete: "Delete" } },
    Memory: { size: "128Mi" },
    Ephemeral: { size: "1Gi" },
    HostPath: { size: "1Gi", hostPath: `/var/lib/${name}` },
  }[medium];
  return {
    replicas,
    storage: { medium, ...storage },
    options: { quotaBackendBytes: "32Mi" },
    pod: { terminationGracePeriodSeconds: 1, resources: { requests: { cpu: "10m", memory: "32Mi" } } },
  };
}

export async function tryIt(ground: Ground, trial: Trial): Promise<Outcome> {
  try {
    return await begin(ground, trial);
  } finally {
    await ground.bed.client.delete(`${PATHS.clusters}/${trial.name}`).catch(() => undefined);
  }
}

async function begin(ground: Ground, trial: Trial): Promise<Outcome> {
  const { lab } = ground;
  const { name, replicas } = trial;
  await lab.call("create", name, specOf(trial));
  const victim = `${name}-${trial.victim}`;
  const pod = await running(ground, victim);
  const uid = pod.metadata?.uid ?? "";
  const pid = await processOf(pod);
  const joinedAt = await joined(ground, victim);
  const file = newFile(pid, joinedAt);
  const opened = opening(ground, name, joinedAt);
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, joinedAt + trial.waitMs - Date.now())));
  const open = await isOpen(ground, name);
  if (open) await lab.call("put", name, KEY, "1").catch(() => undefined);
  file.stop();
  empty(pid);
  const restarted = watchFor(uid, pid);
  try {
    const mayStay = () => !open && restarted.made();
    const reported = replicas === 1 ? await judged(ground, name, mayStay) : "Quorum";
    const kept = replicas === 3 && (await wholeAgain(ground, name, pod, mayStay)) === "kept";
    if (replicas === 3 && open) await lab.call("has", name, KEY);
    return {
      fileMs: file.afterMs,
      openMs: opened.afterMs,
      startedEmpty: restarted.made(),
      open,
      reported,
      kept,
    };
  } finally {
    opened.stop();
    restarted.stop();
  }
}

/** The only member: its data is reported as lost; `startedOver`, and nobody was let in before: it is simply opened. */
async function judged(ground: Ground, name: string, startedOver: () => boolean): Promise<string> {
  const look = async () => {
    const reason = await available(ground, name);
    return reason === "DataGone" || (reason === "Quorum" && startedOver()) ? reason : undefined;
  };
  return await eventually(`${name} is judged`, look, PATIENCE);
}

/**
 * Three have a quorum without it: it goes, another one comes. `mayStay`: it started over before anybody was let in, and
 * what it has since is the leader's; should the operator never have seen it empty, it stays.
 */
export async function wholeAgain(
  ground: Ground,
  name: string,
  pod: Pod,
  mayStay: () => boolean,
): Promise<"replaced" | "kept"> {
  const { lab } = ground;
  const end = await eventually(
    `${pod.metadata?.name} is replaced`,
    async () => {
      if (await isGone(ground, pod)) return "replaced";
      return mayStay() && (await isReady(ground, name)) ? "kept" : undefined;
    },
    PATIENCE,
  );
  await lab.call("converged", name, 3);
  await lab.call("assertSound", name, 3);
  return end;
}

async function isGone({ bed }: Ground, pod: Pod): Promise<boolean> {
  try {
    const { metadata } = await bed.client.get<Pod>(`${PATHS.pods}/${pod.metadata?.name}`);
    return metadata?.uid !== pod.metadata?.uid;
  } catch (error) {
    return isCode(error, 404);
  }
}

async function isReady({ bed }: Ground, name: string): Promise<boolean> {
  const { status } = await bed.client.get<EtcdCluster>(`${PATHS.clusters}/${name}`);
  return status?.conditions?.some((one) => one.type === "Ready" && one.status === "True") ?? false;
}

export async function running({ bed }: Ground, name: string): Promise<Pod> {
  return await eventually(
    `${name} runs`,
    async () => {
      const pod = await bed.client.get<Pod>(`${PATHS.pods}/${name}`);
      return pod.status?.podIP && pod.status.containerStatuses?.[0]?.state?.running ? pod : undefined;
    },
    { ...PATIENCE, everyMs: 20 },
  );
}

/** Resolves with the moment at which its record says so. */
export async function joined({ bed }: Ground, name: string): Promise<number> {
  const look = async () => {
    const { spec } = await bed.client.get<EtcdMember>(`${PATHS.members}/${name}`);
    return spec.joined ? Date.now() : undefined;
  };
  return await eventually(`${name} has joined`, look, { ...PATIENCE, everyMs: 10 });
}

export async function processOf({ metadata }: Pod): Promise<number> {
  const look = () => Promise.resolve(etcdOf(metadata?.uid ?? ""));
  return await eventually(`${metadata?.name} has a process`, look, PATIENCE);
}

export async function available({ bed }: Ground, name: string): Promise<string> {
  const { status } = await bed.client.get<EtcdCluster>(`${PATHS.clusters}/${name}`);
  return status?.conditions?.find(({ type }) => type === "Available")?.reason ?? "";
}

export async function isOpen({ bed }: Ground, name: string): Promise<boolean> {
  try {
    await bed.client.get(`${PATHS.services}/${serviceNames(name).client}`);
    return true;
  } catch (error) {
    if (isCode(error, 404)) return false;
    throw error;
  }
}

/** The process of etcd in a Pod, as this machine numbers it. */
export function etcdOf(podUID: string): number | undefined {
  for (const entry of readdirSync("/proc")) {
    if (!/^\d+$/.test(entry)) continue;
    try {
      if (readFileSync(`/proc/${entry}/comm`, "utf8") !== "etcd\n") continue;
      if (readFileSync(`/proc/${entry}/cgroup`, "utf8").includes(podUID)) return Number(entry);
    } catch {
      // It has ended meanwhile.
    }
  }
  return undefined;
}

/** Where a path of the container is for this machine. */
const inside = (pid: number, path: string) => `/proc/${pid}/root${path}`;

/** Its directory loses everything, and it has no chance to notice. */
export function empty(pid: number): void {
  process.kill(pid, "SIGSTOP");
  rmSync(inside(pid, IN_POD.dataDir), { recursive: true, force: true });
  process.kill(pid, "SIGKILL");
}

/** A restart in place would read the file of a member that has joined. */
export function namesItselfAlone(pid: number): boolean {
  const config = JSON.parse(readFileSync(inside(pid, IN_POD.configFile), "utf8")) as Record<string, string>;
  const [peers = "", state] = [config["initial-cluster"], config["initial-cluster-state"]];
  return state === "existing" && !peers.includes(",");
}

/** When the process would find the new file. */
function newFile(pid: number, since: number): { afterMs: number; stop(): void } {
  const found = { afterMs: -1, stop: () => clearInterval(timer) };
  const timer = setInterval(() => {
    try {
      if (!namesItselfAlone(pid)) return;
      found.afterMs = Date.now() - since;
    } catch {
      // It has ended meanwhile.
    }
    clearInterval(timer);
  }, 5);
  return found;
}

function opening(ground: Ground, name: string, since: number): { afterMs?: number; stop(): void } {
  let over = false;
  const found: { afterMs?: number; stop(): void } = { stop: () => void (over = true) };
  const look = async (): Promise<void> => {
    if (over) return;
    if (await isOpen(ground, name)) found.afterMs = Date.now() - since;
    else setTimeout(() => void look().catch(() => undefined), 20);
  };
  void look().catch(() => undefined);
  return found;
}

/** Looks for processes in the Pod, and whether one of them makes a log of its own. */
export function watchFor(podUID: string, before: number): { made(): boolean; stop(): void } {
  let made = false;
  const timer = setInterval(() => {
    const pid = etcdOf(podUID);
    if (pid === undefined || pid === before) return;
    try {
      const logs = readdirSync(inside(pid, join(IN_POD.dataDir, "member", "wal")));
      made ||= logs.some((file) => file.endsWith(".wal"));
    } catch {
      // It has none so far, or has ended.
    }
  }, 30);
  // A test that fails before it stops this must still end.
  timer.unref();
  return { made: () => made, stop: () => clearInterval(timer) };
}

const TABLE = "cut-off";

/** The kubelet and what else runs on the node itself reach the API server no more; Pods are reached as before. */
export async function cutKubelet({ bed }: Ground, node: number): Promise<void> {
  const port = new URL(bed.access.server).port;
  const rules = `table inet ${TABLE} { chain out { type filter hook output priority 0; tcp dport ${port} drop; }; }`;
  await onNode(bedPaths(bed.name), node, ["nft", "-f", "-"], Buffer.from(rules));
}

export async function healKubelet({ bed }: Ground, node: number): Promise<void> {
  await onNode(bedPaths(bed.name), node, ["nft", "delete", "table", "inet", TABLE]);
}
