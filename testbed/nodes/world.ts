/**
 * The world: one network namespace that holds everything of a testbed with real nodes — the control plane, the
 * bridge with the nodes' cables, and whoever wants to dial Pods — and that has no link to this machine's own
 * network. So no packet of it can leave, whatever lives longer than it should; and it ends with its processes.
 */
import { spawn } from "node:child_process";
import { closeSync, mkdirSync, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Component } from "../components.ts";
import { logFile, tail } from "../converge.ts";
import type { BedPaths } from "../paths.ts";
import { shortHash } from "../paths.ts";
import { endOwned, marks, ownedProcesses } from "../processes.ts";
import { controlAddress } from "../state.ts";
import type { OwnBed } from "../state.ts";
import { BRIDGE, HOST, REGISTRY_PORT } from "./addresses.ts";
import { resolvConf, worldScript } from "./node-files.ts";

const ROLE = "world";

export interface StewardConfig {
  namespaces: string[];
  cgroups: string[];
  setup: string;
  services: { name: string; args: string[]; env: string[]; log: string; after: string[] }[];
}

/** The process that holds the world's namespaces, if it is up. */
export function worldProcess(paths: BedPaths): number | undefined {
  // While it starts, its maker has the same role; the later one is the one that stays.
  return ownedProcesses(paths.dir).findLast(({ role }) => role === ROLE)?.pid;
}

export async function ensureWorld(
  bed: OwnBed,
  paths: BedPaths,
  steward: string,
  usr: string,
): Promise<number> {
  const dir = join(paths.dir, "world");
  mkdirSync(dir, { recursive: true });
  const resolv = join(dir, "resolv.conf");
  const script = worldScript(usr, resolv, bed.options.nodes);
  const spec = shortHash(steward, script);
  const running = ownedProcesses(paths.dir).filter(({ role }) => role === ROLE);
  if (running.length === 1 && running[0]?.spec === spec) return running[0].pid;
  // All that ran in the old one is of no use in the new one.
  await endOwned(paths.dir);
  writeFileSync(resolv, resolvConf());
  writeFileSync(join(dir, "setup.sh"), script);
  const config = { namespaces: ["net", "mount"], cgroups: [], setup: join(dir, "setup.sh"), services: [] };
  return await startSteward(paths, ROLE, spec, steward, join(dir, "steward.json"), config);
}

/** Starts a first process in namespaces of its own and resolves with its number when it has set itself up. */
export async function startSteward(
  paths: BedPaths,
  role: string,
  spec: string,
  steward: string,
  file: string,
  config: StewardConfig,
): Promise<number> {
  writeFileSync(file, JSON.stringify(config, null, 2));
  const log = openSync(logFile(paths, role), "a");
  const child = spawn(steward, ["node", file], {
    detached: true,
    cwd: "/",
    stdio: ["ignore", "pipe", log],
    env: { PATH: programPath(), HOME: paths.dir, ...marks({ dir: paths.dir, role, spec }) },
  });
  closeSync(log);
  let out = "";
  child.stdout?.on("data", (chunk: Buffer) => (out += chunk.toString()));
  const code = await new Promise<number | null>((resolve, reject) =>
    child.on("error", reject).on("close", resolve),
  );
  if (code !== 0) throw new Error(`${role} did not start:\n${tail(logFile(paths, role), 2000)}`);
  return Number(out);
}

/** Appears when the world's API server answers; what would only fail until then waits for it. */
export function answersFile(paths: BedPaths, world: number): string {
  return join(paths.dir, "world", `api-server-answers-${world}`);
}

/** Where tools are, whatever the caller's PATH says. */
export function programPath(): string {
  return "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
}

/** The component, started in the world. */
export function inWorld(component: Component, world: number): Component {
  return {
    ...component,
    file: "nsenter",
    args: [...enterArgs(world), component.file, ...component.args],
  };
}

/**
 * Arguments of nsenter for a process that is to dial Pods, Services and cluster names. It looks where it is before
 * it begins: if the world ended this moment and its number is another's already, it must not dial from there.
 */
export function enterArgs(world: number): string[] {
  const check = `grep -q ' *${BRIDGE}:' /proc/net/dev || { echo "the testbed's network is gone" >&2; exit 1; }; exec "$@"`;
  return [`--net=/proc/${world}/ns/net`, `--mount=/proc/${world}/ns/mnt`, "--", "/bin/sh", "-c", check, "sh"];
}

/** Carries single ports between the machine and the world. */
export function gate(bed: OwnBed, steward: string, world: number): Component {
  const address = controlAddress(bed.slot);
  const { kubelet: _unused, registry, etcdPeer: _peer, ...out } = bed.ports;
  return {
    role: "gate",
    file: steward,
    args: [
      "gate",
      `/proc/${world}/ns/net`,
      ...Object.values(out).map((port) => `out:${address}:${port}>${address}:${port}`),
      `in:${HOST}:${REGISTRY_PORT}>${address}:${registry}`,
    ],
    ready: `tcp://${address}:${bed.ports.apiserver}`,
  };
}
