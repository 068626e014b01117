/**
 * A testbed's life: up, down, status. `up` is a convergence, not a script: it starts what is not running and
 * replaces what runs with other settings, so it can follow an `up` or a `down` that was killed anywhere.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { systemClock } from "../src/seams/clock.ts";
import { ensureEtcd } from "../src/etcd/install/ensure.ts";
import { Client, isCode } from "./client.ts";
import * as components from "./components.ts";
import type { Layout } from "./components.ts";
import { converge } from "./converge.ts";
import { kubeconfigText, readKubeconfig } from "./kubeconfig.ts";
import type { Access } from "./kubeconfig.ts";
import { ensureKubernetes } from "./kubernetes-build.ts";
import type { Kubernetes, Progress } from "./kubernetes-build.ts";
import { acquire } from "./lock.ts";
import { FIRST_SERVICE, HOST, nodeAddress, nodeName, SERVICES } from "./nodes/addresses.ts";
import { endAll, ensureNodeTools, missingForNodes, numbers, startWithNodes } from "./nodes/cluster.ts";
import type { NodeTools } from "./nodes/cluster.ts";
import { nodeStates } from "./nodes/verbs.ts";
import { bedPaths } from "./paths.ts";
import { ensurePki, pkiFiles } from "./pki.ts";
import { ownedProcesses } from "./processes.ts";
import { listeners } from "./sockets.ts";
import { controlAddress, createBed, DEFAULT_OPTIONS, readBed, removeBed, writeBed } from "./state.ts";
import type { Bed, BedOptions, OwnBed } from "./state.ts";

/** The etcd behind the API server; any supported one does. */
export const BACKING_ETCD = "3.6";

export interface UpOptions extends Partial<BedOptions> {
  name?: string;
  progress?: Progress;
  /** A kubeconfig of a cluster that exists; it is only checked and remembered. */
  use?: string;
  context?: string;
}

export interface Testbed {
  bed: Bed;
  kubeconfig: string;
  access: Access;
  client: Client;
}

export const DEFAULT_NAME = "default";

export async function up(options: UpOptions = {}): Promise<Testbed> {
  const name = options.name ?? DEFAULT_NAME;
  const progress = options.progress ?? (() => {});
  const paths = bedPaths(name);
  const lock = await acquire(paths.dir, { purpose: `bringing up testbed ${name}`, waiting: progress });
  try {
    const existing = readBed(name);
    if (options.use) return await useCluster(name, existing, options.use, options.context);
    if (existing?.kind === "used") {
      throw new Error(
        `testbed ${name} stands for ${existing.kubeconfig}; forget it first: testbed down --name ${name}`,
      );
    }
    const wanted = wantedOptions(options, existing?.options);
    if (existing && JSON.stringify(existing.options) !== JSON.stringify(wanted)) {
      throw new Error(
        `testbed ${name} exists with other settings (${describe(existing.options)}); end it first: testbed down --name ${name}`,
      );
    }
    if (wanted.nodes > 0) {
      if (wanted.kubelet !== "none") throw new Error("--nodes and --kubelet process do not go together");
      if (wanted.serviceRanges !== SERVICES) throw new Error("real nodes know one range of Services");
      const lacking = missingForNodes();
      if (lacking.length > 0) throw new Error(`no nodes here: ${lacking.join("; ")}`);
    }
    const kubernetes = await ensureKubernetes(progress);
    const etcd = await ensureEtcd(BACKING_ETCD, {
      env: process.env,
      clock: systemClock,
      progress: (step) => progress(`etcd ${step.version}: ${step.text}`),
    });
    const tools = wanted.nodes > 0 ? await ensureNodeTools(progress) : undefined;
    if (!existing) {
      // What an `up` left that was killed before it had written down what it is.
      await endAll(paths);
      removeBed(name);
    }
    const bed = existing ?? (await createBed(name, wanted));
    await start(bed, kubernetes, etcd.etcd, tools, progress);
    return open(name);
  } finally {
    await lock.release();
  }
}

async function start(
  bed: OwnBed,
  kubernetes: Kubernetes,
  etcd: string,
  tools: NodeTools | undefined,
  progress: Progress,
): Promise<void> {
  const paths = bedPaths(bed.name);
  const pki = await ensurePki(
    paths.pki,
    [controlAddress(bed.slot), "127.0.0.1", HOST, FIRST_SERVICE],
    numbers(bed).map((n) => ({ name: nodeName(n), address: nodeAddress(n) })),
  );
  const ca = readFileSync(pki.ca, "utf8");
  const writeKubeconfig = (path: string, client: string, host = controlAddress(bed.slot)) => {
    const text = kubeconfigText(`testbed-${bed.name}`, {
      server: `https://${host}:${bed.ports.apiserver}`,
      ca,
      token: readFileSync(pki.tokenOf(client), "utf8"),
    });
    // Some programs restart when their file is written, so it is written only when it differs.
    if (!existsSync(path) || readFileSync(path, "utf8") !== text) writeFileSync(path, text, { mode: 0o600 });
  };
  mkdirSync(paths.logs, { recursive: true });
  for (const client of [
    "kube-controller-manager",
    "kube-scheduler",
    "kubelet",
    "kube-proxy",
    "dns",
    "storage",
  ])
    writeKubeconfig(components.componentKubeconfig(paths, client), client);

  const layout: Layout = { bed, paths, pki, kubernetes: kubernetes.bin, etcd };
  const world = { paths, ca, progress };
  if (tools) {
    for (const n of numbers(bed))
      writeKubeconfig(components.componentKubeconfig(paths, nodeName(n)), nodeName(n), HOST);
    writeKubeconfig(components.componentKubeconfig(paths, "kube-proxy-nodes"), "kube-proxy", HOST);
    await startWithNodes(layout, world, { ...tools, kubernetes, pki });
  } else {
    await converge(world, [components.backingEtcd(layout)]);
    await converge(world, [components.apiServer(layout)]);
    const rest = [components.controllerManager(layout)];
    if (bed.options.kubelet === "process")
      rest.push(components.scheduler(layout), components.standInKubelet(layout));
    await converge(world, rest);
  }
  await defaultAccount(new Client(readKubeconfig(components.componentKubeconfig(paths, "kubelet"))));
  // Written last: who finds it finds a cluster that answers.
  writeKubeconfig(paths.kubeconfig, "admin");
}

/** Pods are refused until their namespace has its service account. */
async function defaultAccount(client: Client): Promise<void> {
  const end = Date.now() + 120_000;
  try {
    for (;;) {
      const found = await client
        .get("/api/v1/namespaces/default/serviceaccounts/default")
        .catch((error: unknown) => {
          if (!isCode(error, 404) || Date.now() > end) throw error;
        });
      if (found) return;
      await sleep(25);
    }
  } finally {
    client.close();
  }
}

/** Ends every process of the testbed and deletes what it kept, or with `keepData` only the former. */
export async function down(
  name = DEFAULT_NAME,
  options: { keepData?: boolean; progress?: Progress } = {},
): Promise<void> {
  const paths = bedPaths(name);
  const lock = await acquire(paths.dir, {
    purpose: `ending testbed ${name}`,
    ...(options.progress && { waiting: options.progress }),
  });
  try {
    const bed = readBed(name);
    const ended = await endAll(paths);
    if (ended > 0) options.progress?.(`ended ${ended} processes`);
    if (bed?.kind === "own") await socketsClosed(bed.slot);
    if (!options.keepData) removeBed(name);
  } finally {
    await lock.release();
  }
}

/** Processes that an earlier, killed `down` had ended may still be dying: without a name, but with their sockets. */
async function socketsClosed(slot: number): Promise<void> {
  const end = Date.now() + 5000;
  while (listeners(slot).length > 0) {
    if (Date.now() > end) throw new Error(`something still listens on ${listeners(slot).join(", ")}`);
    await sleep(10);
  }
}

/** A handle on a testbed that is up. */
export function open(name = DEFAULT_NAME): Testbed {
  const bed = readBed(name);
  if (!bed) throw new Error(`there is no testbed ${name}; start it: npm run testbed -- up --nodes 0`);
  const kubeconfig = bed.kind === "used" ? bed.kubeconfig : bedPaths(name).kubeconfig;
  if (!existsSync(kubeconfig)) {
    throw new Error(
      `testbed ${name} did not come up (no ${kubeconfig}); run \`npm run testbed -- up\` again`,
    );
  }
  const access = readKubeconfig(kubeconfig, bed.kind === "used" ? bed.context : undefined);
  return { bed, kubeconfig, access, client: new Client(access) };
}

export interface Status {
  name: string;
  exists: boolean;
  ready: boolean;
  server?: string;
  version?: string;
  settings?: string;
  nodes: { node: string; state: string }[];
  processes: { role: string; pid: number; startTime: string }[];
}

export async function status(name = DEFAULT_NAME): Promise<Status> {
  const bed = readBed(name);
  const processes = ownedProcesses(bedPaths(name).dir).map(({ role, pid, startTime }) => ({
    role,
    pid,
    startTime,
  }));
  if (!bed) return { name, exists: processes.length > 0, ready: false, nodes: [], processes };
  const nodes = bed.kind === "own" && bed.options.nodes > 0 ? nodeStates(name) : [];
  const base = { name, exists: true, nodes, processes };
  const settings = bed.kind === "own" ? describe(bed.options) : `the cluster of ${bed.kubeconfig}`;
  if (bed.kind === "own" && !existsSync(bedPaths(name).kubeconfig))
    return { ...base, settings, ready: false };
  const { client, access } = open(name);
  try {
    await client.get("/readyz", { timeoutMs: 3000 });
    const { gitVersion } = await client.get<{ gitVersion: string }>("/version", { timeoutMs: 3000 });
    return { ...base, settings, ready: true, server: access.server, version: gitVersion };
  } catch {
    return { ...base, settings, ready: false, server: access.server };
  } finally {
    client.close();
  }
}

/** The address and the token of the stand-in kubelet's own interface, for tests that inject faults. */
export function standInAccess(name = DEFAULT_NAME): { url: string; token: string } {
  const bed = readBed(name);
  if (bed?.kind !== "own" || bed.options.kubelet !== "process") {
    throw new Error(`testbed ${name} has no stand-in kubelet; start it with --kubelet process`);
  }
  const token = readFileSync(pkiFiles(bedPaths(name).pki).tokenOf("kubelet"), "utf8");
  return { url: `http://${controlAddress(bed.slot)}:${bed.ports.kubelet}`, token };
}

async function useCluster(
  name: string,
  existing: Bed | undefined,
  file: string,
  context?: string,
): Promise<Testbed> {
  if (existing?.kind === "own") {
    throw new Error(
      `testbed ${name} exists and is no cluster of yours; choose another --name, or end it first`,
    );
  }
  const kubeconfig = resolve(file);
  const access = readKubeconfig(kubeconfig, context);
  const client = new Client(access);
  try {
    await client.get("/version", { timeoutMs: 10_000 });
  } catch (error) {
    client.close();
    throw new Error(`${kubeconfig}: ${access.server} does not answer: ${(error as Error).message}`, {
      cause: error,
    });
  }
  const bed: Bed = {
    kind: "used",
    name,
    created: new Date().toISOString(),
    kubeconfig,
    ...(context && { context }),
  };
  writeBed(bed);
  return { bed, kubeconfig, access, client };
}

function wantedOptions(options: UpOptions, existing: BedOptions | undefined): BedOptions {
  const base = existing ?? DEFAULT_OPTIONS;
  return {
    nodes: options.nodes ?? base.nodes,
    kubelet: options.kubelet ?? base.kubelet,
    processNodes: options.processNodes ?? base.processNodes,
    detection: options.detection ?? base.detection,
    dnsDenialSeconds: options.dnsDenialSeconds ?? base.dnsDenialSeconds ?? DEFAULT_OPTIONS.dnsDenialSeconds,
    services: options.services ?? base.services ?? DEFAULT_OPTIONS.services,
    serviceRanges: options.serviceRanges ?? base.serviceRanges ?? DEFAULT_OPTIONS.serviceRanges,
    backoffMs: options.backoffMs ?? base.backoffMs,
  };
}

function describe(options: BedOptions): string {
  const kubelet =
    options.kubelet === "process" ? ` --kubelet process --process-nodes ${options.processNodes}` : "";
  return `--nodes ${options.nodes}${kubelet} --detection ${options.detection}`;
}
