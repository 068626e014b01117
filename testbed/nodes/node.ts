/**
 * One node's life: its files, its start, and how it stops, crashes, freezes and is cut off.
 */
import { execFile, spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { componentKubeconfig } from "../components.ts";
import { logFile } from "../converge.ts";
import type { Kubernetes } from "../kubernetes-build.ts";
import { DISK } from "../kubelet/storage.ts";
import type { BedPaths } from "../paths.ts";
import { shortHash } from "../paths.ts";
import type { Pki } from "../pki.ts";
import { endOwned, marks, ownedProcesses, signal } from "../processes.ts";
import type { OwnBed } from "../state.ts";
import { cable, nodeAddress, nodeName, zone } from "./addresses.ts";
import { removeGroups, hierarchies, isFrozen, makeGroups, setFrozen } from "./cgroups.ts";
import {
  cniConfig,
  containerdConfig,
  KEPT,
  kubeletConfig,
  kubeProxyConfig,
  nodeScript,
  registryHosts,
  resolvConf,
} from "./node-files.ts";
import type { Programs } from "./programs.ts";
import { answersFile, enterArgs, programPath, startSteward, worldProcess } from "./world.ts";

const run = promisify(execFile);

export interface NodeTools {
  programs: Programs;
  usr: string;
  kubernetes: Kubernetes;
  pki: Pki;
}

export function nodeDir(paths: BedPaths, n: number): string {
  return join(paths.nodes, nodeName(n));
}

/** The node's first process as this machine sees it, if it is up. */
export function nodeProcess(paths: BedPaths, n: number): { pid: number; spec: string } | undefined {
  // While it starts, its maker has the same role; the later one is the one that stays.
  return ownedProcesses(paths.dir).findLast(({ role }) => role === nodeName(n));
}

/** Starts the node unless it runs with just these settings; tells whether it had to. */
export async function ensureNode(
  bed: OwnBed,
  paths: BedPaths,
  n: number,
  world: number,
  tools: NodeTools,
): Promise<boolean> {
  const name = nodeName(n);
  const dir = nodeDir(paths, n);
  const quick = bed.options.detection === "quick";
  const kubeconfig = componentKubeconfig(paths, name);
  const setup = nodeScript({
    n,
    nodes: bed.options.nodes,
    dir,
    usr: tools.usr,
    world,
    volumes: paths.volumes,
    hierarchies: hierarchies(),
  });
  const files: Record<string, string> = {
    "setup.sh": setup,
    "resolv.conf": resolvConf(),
    "containerd.toml": containerdConfig(dir),
    "registries/_default/hosts.toml": registryHosts(),
    "cni/10-pods.conflist": cniConfig(n),
    "kubelet.yaml": kubeletConfig(dir, tools.pki.ca, quick),
    "kube-proxy.yaml": kubeProxyConfig(
      componentKubeconfig(paths, "kube-proxy-nodes"),
      name,
      "0.0.0.0:10256",
      bed.options.services,
    ),
    "kubelet.crt": readFileSync(tools.pki.certOf(name), "utf8"),
    "kubelet.key": readFileSync(tools.pki.keyOf(name), "utf8"),
  };
  const services = servicesOf(paths, n, world, tools, kubeconfig);
  const spec = shortHash(tools.programs.steward, JSON.stringify([files, services]));
  const running = nodeProcess(paths, n);
  if (running?.spec === spec) return false;
  if (running) await crashNode(paths, n);
  // A start that was killed half way may have left more than the first process.
  await endOwned(paths.dir, ({ role }) => role.split(" ")[0] === name);
  await removeGroups(paths.dir, name);

  for (const part of [...KEPT.filter((kept) => kept !== "volumes"), "pod-logs", "registries/_default", "cni"])
    mkdirSync(join(dir, part), { recursive: true });
  mkdirSync(paths.volumes, { recursive: true });
  for (const [file, text] of Object.entries(files)) writeIfDifferent(join(dir, file), text);
  const config = {
    namespaces: ["net", "mount", "pid", "uts", "ipc", "cgroup"],
    cgroups: makeGroups(paths.dir, name),
    setup: join(dir, "setup.sh"),
    services,
  };
  await startSteward(paths, name, spec, tools.programs.steward, join(dir, "steward.json"), config);
  return true;
}

function servicesOf(paths: BedPaths, n: number, world: number, tools: NodeTools, kubeconfig: string) {
  const apiServer = answersFile(paths, world);
  const name = nodeName(n);
  const dir = nodeDir(paths, n);
  const plugin = "/var/lib/kubelet/plugins";
  const service = (program: string, args: string[], after: string[] = []) => ({
    name: program,
    args,
    env: Object.entries({
      PATH: programPath(),
      HOME: "/var/lib/kubelet",
      ...marks({ dir: paths.dir, role: `${name} ${program}` }),
    }).map(([key, value]) => `${key}=${value}`),
    log: logFile(paths, `${name}-${program}`),
    after,
  });
  return [
    service("containerd", ["/usr/bin/containerd", "--config", join(dir, "containerd.toml")]),
    service(
      "kubelet",
      [
        join(tools.kubernetes.bin, "kubelet"),
        `--config=${join(dir, "kubelet.yaml")}`,
        `--kubeconfig=${kubeconfig}`,
        `--hostname-override=${name}`,
        `--node-ip=${nodeAddress(n)}`,
        "--root-dir=/var/lib/kubelet",
        `--node-labels=topology.kubernetes.io/zone=${zone(n)},topology.kubernetes.io/region=testbed`,
      ],
      ["/run/containerd/containerd.sock", apiServer],
    ),
    service(
      "kube-proxy",
      [join(tools.kubernetes.bin, "kube-proxy"), `--config=${join(dir, "kube-proxy.yaml")}`],
      [apiServer],
    ),
    service(
      "csi",
      [
        tools.programs.csi,
        `--driver=${DISK}`,
        `--node=${name}`,
        "--images=/var/lib/volumes",
        `--endpoint=${plugin}/csi.sock`,
        `--registrar=${plugin}_registry/csi-reg.sock`,
      ],
      [`${plugin}_registry`],
    ),
  ];
}

/** Some programs restart when their file is written, so it is written only when it differs. */
function writeIfDifferent(path: string, text: string): void {
  if (!existsSync(path) || readFileSync(path, "utf8") !== text) writeFileSync(path, text, { mode: 0o600 });
}

/** Power loss: everything on the node ends at once. */
export async function crashNode(paths: BedPaths, n: number): Promise<void> {
  const found = nodeProcess(paths, n);
  if (found) signal(found.pid, "SIGKILL");
  // A frozen process does not even die.
  setFrozen(paths.dir, nodeName(n), false);
  await removeGroups(paths.dir, nodeName(n));
}

/** An orderly stop: every process is asked to end. */
export async function stopNode(paths: BedPaths, n: number): Promise<void> {
  const found = nodeProcess(paths, n);
  if (found) signal(found.pid, "SIGTERM");
  await removeGroups(paths.dir, nodeName(n));
}

/** The cable is pulled, or put back: the node and its Pods go on, alone. */
export async function setCable(paths: BedPaths, n: number, up: boolean): Promise<void> {
  const world = worldProcess(paths);
  if (!world) throw new Error("the testbed is not up");
  const args = [...enterArgs(world), "ip", "link", "set", cable(n), up ? "up" : "down"];
  await run("nsenter", args, { env: { PATH: programPath() } });
}

/** Stops the node in its tracks, or lets it go on. */
export function freezeNode(paths: BedPaths, n: number, frozen: boolean): void {
  if (!nodeProcess(paths, n)) throw new Error(`${nodeName(n)} is not running`);
  setFrozen(paths.dir, nodeName(n), frozen);
}

export function nodeState(paths: BedPaths, n: number): string {
  if (!nodeProcess(paths, n)) return "down";
  return isFrozen(paths.dir, nodeName(n)) ? "frozen" : "running";
}

/** Runs a command on the node, as if one had logged in there. */
export async function onNode(paths: BedPaths, n: number, command: string[], input?: Buffer): Promise<string> {
  const found = nodeProcess(paths, n);
  if (!found) throw new Error(`${nodeName(n)} is not running`);
  const args = [
    "--target",
    String(found.pid),
    "--net",
    "--mount",
    "--pid",
    "--uts",
    "--ipc",
    "--",
    ...command,
  ];
  return await new Promise((resolve, reject) => {
    const child = spawn("nsenter", args, {
      env: { PATH: programPath(), ...marks({ dir: paths.dir, role: `${nodeName(n)} visitor` }) },
      stdio: ["pipe", "pipe", "pipe"],
    });
    let out = "";
    let error = "";
    child.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => (error += chunk.toString()));
    child.stdin.on("error", () => {});
    child.on("error", reject);
    child.on("close", (code) => {
      if (code === 0) resolve(out);
      else reject(new Error(`${nodeName(n)}: ${command.join(" ")}: exit code ${code}: ${error.trim()}`));
    });
    child.stdin.end(input);
  });
}

const BALLAST = ".ballast";
const EACH_DISK = `for disk in $(grep -o ' /var/lib/kubelet/plugins/kubernetes.io/csi/[^ ]*/globalmount ' /proc/self/mounts | sort -u)`;

/** Fills every disk that is mounted on the node to the last byte; returns how many there were. */
export async function fillDisks(paths: BedPaths, n: number): Promise<number> {
  const script = `${EACH_DISK}; do
    sync -f $disk
    fallocate -l $(df --output=avail -B1 $disk | tail -1) $disk/${BALLAST} 2>/dev/null || true
    dd if=/dev/zero of=$disk/${BALLAST}-rest bs=64k 2>/dev/null || true
    dd if=/dev/zero of=$disk/${BALLAST}-end bs=1k 2>/dev/null || true
    echo $disk
  done`;
  const filled = await onNode(paths, n, ["sh", "-c", script]);
  return filled.split("\n").filter(Boolean).length;
}

/** Takes away what `fillDisks` put there. */
export async function freeDisks(paths: BedPaths, n: number): Promise<void> {
  await onNode(paths, n, ["sh", "-c", `${EACH_DISK}; do rm -f $disk/${BALLAST}*; done`]);
}

/** Puts an image from an archive on the node, whatever a Pod's pull policy says. */
export async function loadImage(paths: BedPaths, n: number, archive: Buffer): Promise<void> {
  await onNode(paths, n, ["ctr", "-n", "k8s.io", "images", "import", "-"], archive);
}
