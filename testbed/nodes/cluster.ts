/**
 * A cluster of real nodes: what it needs, the order in which it comes up, and how all of it goes.
 */
import { spawnSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "../client.ts";
import type { KubeObject } from "../client.ts";
import * as components from "../components.ts";
import type { Component, Layout } from "../components.ts";
import { converge, logFile, tail } from "../converge.ts";
import type { World } from "../converge.ts";
import { readKubeconfig } from "../kubeconfig.ts";
import { DISK } from "../kubelet/storage.ts";
import { missingGo } from "../kubernetes-build.ts";
import type { Progress } from "../kubernetes-build.ts";
import { cacheDir } from "../paths.ts";
import type { BedPaths } from "../paths.ts";
import { endOwned } from "../processes.ts";
import { controlAddress, DEFAULT_OPTIONS } from "../state.ts";
import type { OwnBed } from "../state.ts";
import { DNS_SERVICE, HOST, nodeName } from "./addresses.ts";
import { missingCgroups, removeGroups, thawAll } from "./cgroups.ts";
import { ensureNode } from "./node.ts";
import type { NodeTools as OneNodeTools } from "./node.ts";
import { corefile, kubeProxyConfig } from "./node-files.ts";
import { ensurePackages, packagesUnpacked } from "./packages.ts";
import { ensurePrograms, unbuiltPrograms } from "./programs.ts";
import type { Programs } from "./programs.ts";
import { answersFile, ensureWorld, gate, inWorld, programPath } from "./world.ts";

const READY_MS = 90_000;

export interface NodeTools {
  programs: Programs;
  usr: string;
}

export function numbers(bed: OwnBed): number[] {
  return Array.from({ length: bed.options.nodes }, (_, i) => i + 1);
}

/** Builds and unpacks what nodes need besides Kubernetes. */
export async function ensureNodeTools(progress: Progress): Promise<NodeTools> {
  return { usr: await ensurePackages(progress), programs: await ensurePrograms(progress) };
}

/** Why there can be no nodes on this machine, each with what to do about it; empty when there can. */
export function missingForNodes(): string[] {
  if (process.platform !== "linux") return ["nodes are made of Linux namespaces"];
  if (process.getuid?.() !== 0) return ["nodes need root: run it with sudo, or use --kubelet process"];
  const lacking: string[] = [];
  const dirs = programPath().split(":");
  const tools = ["ip", "nsenter", "mount", "losetup", "mkfs.ext4", "resize2fs", "fallocate"].filter(
    (tool) => !dirs.some((dir) => existsSync(join(dir, tool))),
  );
  if (tools.length > 0)
    lacking.push(`${tools.join(", ")} not found: install iproute2, util-linux and e2fsprogs`);
  if (!existsSync("/dev/loop-control")) lacking.push("there are no loop devices (/dev/loop-control)");
  const hidden = ["/run/", "/var/lib/", "/var/log/", "/usr/", "/sys/", "/proc/"];
  if (hidden.some((dir) => `${cacheDir()}/`.startsWith(dir)))
    lacking.push(`a node does not see ${cacheDir()}: set QUORATE_CACHE to a directory elsewhere`);
  const tried = spawnSync("unshare", ["--net", "--mount", "--pid", "--fork", "true"], { encoding: "utf8" });
  if (tried.status !== 0) lacking.push(`namespaces are not allowed here (${tried.stderr?.trim()})`);
  const cgroups = missingCgroups();
  if (cgroups) lacking.push(cgroups);
  if (!packagesUnpacked() && spawnSync("apt-get", ["--version"]).status !== 0)
    lacking.push(
      "apt-get not found: containerd, runc and the CNI plugins are unpacked from Debian's packages",
    );
  if (unbuiltPrograms().length > 0) {
    const go = missingGo();
    if (go) lacking.push(go);
  }
  return lacking;
}

/** Brings up what does not run yet: the world, the control plane in it, the nodes. */
export async function startWithNodes(layout: Layout, world: World, tools: OneNodeTools): Promise<void> {
  const { bed, paths } = layout;
  const { steward } = tools.programs;
  const holder = await ensureWorld(bed, paths, steward, tools.usr);
  const inside = (component: Component) => inWorld(component, holder);
  const client = new Client(readKubeconfig(components.componentKubeconfig(paths, "kubelet")));
  const apiServer = async () => {
    await converge(world, [gate(bed, steward, holder), inside(components.backingEtcd(layout))]);
    await converge(world, [inside(components.apiServer(layout))]);
    writeFileSync(answersFile(paths, holder), "");
  };
  // The rest of the control plane follows the API server; nodes and registry need not wait to begin with it.
  const answers = apiServer();
  const controlPlane = async () => {
    await answers;
    await converge(world, [
      inside(components.controllerManager(layout)),
      inside(components.scheduler(layout)),
      inside(nameServer(layout, tools.programs.coredns)),
      provisioner(bed),
    ]);
  };
  try {
    await all([
      converge(world, [registry(bed)]),
      controlPlane(),
      answers.then(() => nameService(client)),
      ...numbers(bed).map((n) => bringUp(client, layout, n, holder, tools, answers, world.progress)),
    ]);
    // It takes the first node's name, because it wants one; so that node must be known.
    await converge(world, [inside(worldProxy(layout))]);
  } finally {
    client.close();
  }
}

/** Waits for all of them even if one fails: nothing must go on starting after `up` has given up. */
async function all(works: Promise<void>[]): Promise<void> {
  const failed = (await Promise.allSettled(works)).find((result) => result.status === "rejected");
  if (failed) throw failed.reason;
}

async function bringUp(
  client: Client,
  { bed, paths }: Layout,
  n: number,
  holder: number,
  tools: OneNodeTools,
  answers: Promise<void>,
  progress: Progress,
): Promise<void> {
  const started = Date.now();
  const isNew = await ensureNode(bed, paths, n, holder, tools);
  await answers;
  await nodeReady(client, paths, n, isNew ? started : 0);
  if (isNew) progress(`${nodeName(n)} is ready (${((Date.now() - started) / 1000).toFixed(1)} s)`);
}

interface NodeObject extends KubeObject {
  status?: { conditions?: { type: string; status: string; message?: string; lastHeartbeatTime?: string }[] };
}

/** Ready, and its disks can be mounted; with `since`, as said by the kubelet after that moment. */
export async function nodeReady(client: Client, paths: BedPaths, n: number, since = 0): Promise<void> {
  const name = nodeName(n);
  const end = Date.now() + READY_MS;
  let last = "it has not registered";
  for (;;) {
    try {
      const node = await client.get<NodeObject>(`/api/v1/nodes/${name}`, { timeoutMs: 5000 });
      const ready = node.status?.conditions?.find(({ type }) => type === "Ready");
      last = ready?.message ?? last;
      // What the API server remembers of a node that crashed is no news. Times there are whole seconds.
      const heard = Date.parse(ready?.lastHeartbeatTime ?? "") + 1000;
      if (since > 0 && !(heard > since)) last = "its kubelet has not spoken yet";
      else if (ready?.status === "True") {
        const path = `/apis/storage.k8s.io/v1/csinodes/${name}`;
        const { spec } = await client.get<{ spec?: { drivers?: { name: string }[] | null } }>(path);
        if (spec?.drivers?.some((driver) => driver.name === DISK)) return;
        last = "its kubelet has not met the CSI driver";
      }
    } catch (error) {
      last = (error as Error).message;
    }
    if (Date.now() > end) {
      const log = logFile(paths, `${name}-kubelet`);
      throw new Error(
        `${name} is not ready after ${READY_MS / 1000} s (${last}); the end of ${log}:\n${tail(log, 2000)}`,
      );
    }
    await sleep(50);
  }
}

function registry(bed: OwnBed): Component {
  return {
    role: "registry",
    file: process.execPath,
    args: [join(import.meta.dirname, "registry.ts"), bed.name],
    // It installs etcd versions as Pods ask for them, which needs whatever the user's Go and npm need.
    env: { ...(process.env as Record<string, string>), QUORATE_CACHE: cacheDir() },
    ready: `http://${controlAddress(bed.slot)}:${bed.ports.registry}/healthz`,
  };
}

function provisioner(bed: OwnBed): Component {
  return {
    role: "provisioner",
    file: process.execPath,
    args: [join(import.meta.dirname, "provisioner.ts"), bed.name],
    env: { QUORATE_CACHE: cacheDir() },
    ready: `http://${controlAddress(bed.slot)}:${bed.ports.kubelet}/`,
  };
}

function nameServer({ bed, paths }: Layout, coredns: string): Component {
  const ready = `${controlAddress(bed.slot)}:${bed.ports.dns}`;
  const file = join(paths.dir, "world", "Corefile");
  const text = corefile(components.componentKubeconfig(paths, "dns"), ready, bed.options.dnsDenialSeconds);
  writeFileSync(file, text);
  return { role: "coredns", file: coredns, args: ["-conf", file], ready: `http://${ready}/ready` };
}

/** The world has Services too: the API server calls webhooks by them, and so do tests. */
function worldProxy({ bed, paths, kubernetes }: Layout): Component {
  const health = `${controlAddress(bed.slot)}:${bed.ports.kubeProxy}`;
  const file = join(paths.dir, "world", "kube-proxy.yaml");
  const kubeconfig = components.componentKubeconfig(paths, "kube-proxy");
  const text = kubeProxyConfig(kubeconfig, nodeName(1), health, DEFAULT_OPTIONS.services);
  // It exits when its file is written, even with the same words.
  if (!existsSync(file)) writeFileSync(file, text);
  return {
    role: "kube-proxy",
    file: join(kubernetes, "kube-proxy"),
    args: [`--config=${file}`],
    ready: `http://${health}/healthz`,
  };
}

/** The Service by which Pods find the name server, which runs in the world and not on a node that may crash. */
async function nameService(client: Client): Promise<void> {
  const ports = [
    { name: "dns", port: 53, protocol: "UDP" },
    { name: "dns-tcp", port: 53, protocol: "TCP" },
  ];
  await client.apply("/api/v1/namespaces/kube-system/services/kube-dns", {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "kube-dns", labels: { "k8s-app": "kube-dns" } },
    spec: { clusterIP: DNS_SERVICE, ports },
  });
  await client.apply("/apis/discovery.k8s.io/v1/namespaces/kube-system/endpointslices/kube-dns", {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { name: "kube-dns", labels: { "kubernetes.io/service-name": "kube-dns" } },
    addressType: "IPv4",
    ports,
    endpoints: [{ addresses: [HOST], conditions: { ready: true } }],
  });
}

/** Ends every process of a testbed, with or without nodes, and takes away their control groups. */
export async function endAll(paths: BedPaths): Promise<number> {
  thawAll(paths.dir);
  const ended = await endOwned(paths.dir);
  await removeGroups(paths.dir);
  return ended;
}
