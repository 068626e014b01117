/**
 * `testbed node …`, `testbed image …` and `testbed enter …`: the faults and services of real nodes, for the
 * command line and for tests.
 */
import { spawn, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "../client.ts";
import { componentKubeconfig } from "../components.ts";
import { readKubeconfig } from "../kubeconfig.ts";
import { ensureKubernetes } from "../kubernetes-build.ts";
import type { Progress } from "../kubernetes-build.ts";
import { acquire } from "../lock.ts";
import { bedPaths } from "../paths.ts";
import type { BedPaths } from "../paths.ts";
import { pkiFiles } from "../pki.ts";
import { marks } from "../processes.ts";
import { readBed } from "../state.ts";
import type { OwnBed } from "../state.ts";
import { nodeName } from "./addresses.ts";
import { ensureNodeTools, nodeReady, numbers } from "./cluster.ts";
import {
  crashNode,
  ensureNode,
  fillDisks,
  freeDisks,
  freezeNode,
  loadImage,
  nodeProcess,
  nodeState,
  setCable,
  stopNode,
} from "./node.ts";
import { enterArgs, worldProcess } from "./world.ts";

export const NODE_VERBS = [
  "crash",
  "stop",
  "start",
  "boot",
  "cut",
  "heal",
  "freeze",
  "thaw",
  "fill-disk",
  "free-disk",
  "drain",
] as const;
export type NodeVerb = (typeof NODE_VERBS)[number];

function bedWithNodes(name: string): { bed: OwnBed; paths: BedPaths } {
  const bed = readBed(name);
  if (bed?.kind !== "own" || bed.options.nodes === 0)
    throw new Error(`testbed ${name} has no real nodes; start it: npm run testbed -- up --nodes 3`);
  return { bed, paths: bedPaths(name) };
}

/** One fault, or its end. Resolves when it is in effect; for `start`, unlike `boot`, when the API server says that the node is ready. */
export async function nodeVerb(
  name: string,
  verb: NodeVerb,
  n: number,
  progress: Progress = () => {},
  drainSeconds = 60,
): Promise<void> {
  const { bed, paths } = bedWithNodes(name);
  if (!numbers(bed).includes(n))
    throw new Error(`testbed ${name} has nodes ${numbers(bed).join(", ")}, not ${n}`);
  const lock = await acquire(paths.dir, { purpose: `${verb} ${nodeName(n)}`, waiting: progress });
  try {
    switch (verb) {
      case "crash":
        return await crashNode(paths, n);
      case "stop":
        return await stopNode(paths, n);
      case "start":
        return await startNode(bed, paths, n, progress);
      case "boot":
        return await bootNode(bed, paths, n, progress);
      case "cut":
      case "heal":
        return await setCable(paths, n, verb === "heal");
      case "freeze":
      case "thaw":
        return freezeNode(paths, n, verb === "freeze");
      case "fill-disk":
        return progress(`filled ${await fillDisks(paths, n)} disks of ${nodeName(n)}`);
      case "free-disk":
        return await freeDisks(paths, n);
      case "drain":
        return await drain(paths, n, drainSeconds);
    }
  } finally {
    await lock.release();
  }
}

async function bootNode(bed: OwnBed, paths: BedPaths, n: number, progress: Progress): Promise<void> {
  const world = worldProcess(paths);
  if (!world) throw new Error(`testbed ${bed.name} is not up`);
  const tools = await ensureNodeTools(progress);
  const kubernetes = await ensureKubernetes(progress);
  await ensureNode(bed, paths, n, world, { ...tools, kubernetes, pki: pkiFiles(paths.pki) });
}

async function startNode(bed: OwnBed, paths: BedPaths, n: number, progress: Progress): Promise<void> {
  const started = Date.now();
  await bootNode(bed, paths, n, progress);
  const client = new Client(readKubeconfig(componentKubeconfig(paths, "kubelet")));
  try {
    await nodeReady(client, paths, n, started);
  } finally {
    client.close();
  }
}

/** As an administrator does it: no new Pods, and every Pod evicted that its budget lets go. */
async function drain(paths: BedPaths, n: number, seconds: number): Promise<void> {
  const { bin } = await ensureKubernetes();
  const options = ["--ignore-daemonsets", "--delete-emptydir-data", `--timeout=${seconds}s`];
  const args = ["--kubeconfig", paths.kubeconfig, "drain", nodeName(n), ...options];
  const done = spawnSync(join(bin, "kubectl"), args, { encoding: "utf8" });
  if (done.status !== 0) throw new Error(`${nodeName(n)} is not drained: ${done.stderr.trim()}`);
}

/** Puts the image of an archive on every node that runs. */
export async function loadArchive(name: string, file: string, progress: Progress = () => {}): Promise<void> {
  const { bed, paths } = bedWithNodes(name);
  const archive = readFileSync(file);
  const running = numbers(bed).filter((n) => nodeProcess(paths, n));
  await Promise.all(running.map((n) => loadImage(paths, n, archive)));
  const missed = numbers(bed).filter((n) => !running.includes(n));
  progress(`loaded on ${running.map(nodeName).join(", ")}`);
  if (missed.length > 0)
    throw new Error(`${missed.map(nodeName).join(", ")} not running: load it again when they are`);
}

export interface Entering {
  file: string;
  args: string[];
  env: Record<string, string>;
}

/**
 * How to start a process that stands where the nodes' host stands: it dials Pods, Services and cluster names, and
 * Pods reach it at 10.77.0.1. It is the testbed's: `down` ends it.
 */
export function entering(name: string, command: string[]): Entering {
  const { paths } = bedWithNodes(name);
  const world = worldProcess(paths);
  if (!world) throw new Error(`testbed ${name} is not up`);
  return {
    file: "nsenter",
    args: [...enterArgs(world), ...command],
    env: { ...(process.env as Record<string, string>), ...marks({ dir: paths.dir, role: "guest" }) },
  };
}

export function enter(name: string, command: string[]): Promise<number> {
  const { file, args, env } = entering(name, command);
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { env, stdio: "inherit" });
    child.on("error", reject).on("close", (code) => resolve(code ?? 1));
  });
}

export function nodeStates(name: string): { node: string; state: string }[] {
  const { bed, paths } = bedWithNodes(name);
  return numbers(bed).map((n) => ({ node: nodeName(n), state: nodeState(paths, n) }));
}
