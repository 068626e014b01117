/**
 * The control groups of a testbed's nodes (cgroup v1): one subtree per node in every hierarchy. They hold every
 * process of a node, so they also tell when the last one has gone.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { shortHash } from "../paths.ts";

const NEEDED = ["cpu", "cpuacct", "cpuset", "memory", "devices", "freezer", "pids"];

export interface Hierarchy {
  /** "cpu", "cpu,cpuacct" or "name=systemd": as it must be mounted again inside. */
  options: string;
  path: string;
}

/** The mounted v1 hierarchies. */
export function hierarchies(): Hierarchy[] {
  const found = new Map<string, string>();
  for (const line of readFileSync("/proc/self/mountinfo", "utf8").split("\n")) {
    const [left = "", right = ""] = line.split(" - ");
    const [type, , superOptions = ""] = right.split(" ");
    if (type !== "cgroup") continue;
    const options = superOptions
      .split(",")
      .filter((o) => !["rw", "ro", "xattr"].includes(o) && !o.startsWith("release_agent"))
      .join(",");
    if (!found.has(options)) found.set(options, left.split(" ")[4] ?? "");
  }
  return [...found].map(([options, path]) => ({ options, path }));
}

export function missingCgroups(): string | undefined {
  const have = new Set(hierarchies().flatMap(({ options }) => options.split(",")));
  const lacking = NEEDED.filter((name) => !have.has(name));
  if (lacking.length === 0) return undefined;
  return `cgroup v1 hierarchies are not mounted (${lacking.join(", ")}): nodes are built for v1 only; boot with systemd.unified_cgroup_hierarchy=0, or use a cluster of your own (--use <kubeconfig>)`;
}

function subtree(bedDir: string): string {
  return `quorate-${shortHash(bedDir)}`;
}

/**
 * Weight of all nodes together, where 1024 is that of one process of the machine. The scheduler weighs a group like one
 * of the processes beside it, so with its default every Pod of every node would share the time of a single process,
 * and stand still while the machine has other work.
 */
const WEIGHT = 16 * 1024;

/** Makes the groups of a node and returns their directories. */
export function makeGroups(bedDir: string, node: string): string[] {
  return hierarchies().map(({ path }) => {
    let dir = path;
    const all = join(path, subtree(bedDir));
    for (const part of [subtree(bedDir), node]) {
      const parent = dir;
      dir = join(dir, part);
      if (!existsSync(dir)) mkdirSync(dir);
      // A new cpuset is empty, and nothing may run in it until it has processors and memory.
      for (const file of ["cpuset.cpus", "cpuset.mems"]) {
        if (existsSync(join(dir, file)) && readFileSync(join(dir, file), "utf8").trim() === "")
          writeFileSync(join(dir, file), readFileSync(join(parent, file)));
      }
    }
    if (existsSync(join(all, "cpu.shares"))) writeFileSync(join(all, "cpu.shares"), String(WEIGHT));
    return dir;
  });
}

function freezerState(bedDir: string, node: string): string {
  const freezer = hierarchies().find(({ options }) => options.split(",").includes("freezer"));
  return join(freezer?.path ?? "", subtree(bedDir), node, "freezer.state");
}

export function setFrozen(bedDir: string, node: string, frozen: boolean): void {
  const state = freezerState(bedDir, node);
  if (existsSync(state)) writeFileSync(state, frozen ? "FROZEN" : "THAWED");
}

export function isFrozen(bedDir: string, node: string): boolean {
  const state = freezerState(bedDir, node);
  return existsSync(state) && readFileSync(state, "utf8").trim() !== "THAWED";
}

/** A frozen process does not even die. */
export function thawAll(bedDir: string): void {
  for (const { path } of hierarchies()) {
    const dir = join(path, subtree(bedDir));
    if (!existsSync(join(dir, "freezer.state")) && !existsSync(dir)) continue;
    for (const group of groupsBelow(dir)) {
      const state = join(group, "freezer.state");
      if (existsSync(state) && readFileSync(state, "utf8").trim() !== "THAWED")
        writeFileSync(state, "THAWED");
    }
  }
}

/** Every group of the testbed, or of one of its nodes, innermost first. */
export function groupsOf(bedDir: string, node = ""): string[] {
  return hierarchies().flatMap(({ path }) => groupsBelow(join(path, subtree(bedDir), node)));
}

function groupsBelow(dir: string): string[] {
  if (!existsSync(dir)) return [];
  const inner = readdirSync(dir, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return [...inner.flatMap((entry) => groupsBelow(join(dir, entry.name))), dir];
}

function members(dir: string): number[] {
  try {
    return readFileSync(join(dir, "cgroup.procs"), "utf8").split("\n").filter(Boolean).map(Number);
  } catch {
    return []; // the group went meanwhile
  }
}

/** Waits until no process is left in the node's groups (in all of the testbed's without a node). */
async function groupsEmpty(bedDir: string, node?: string): Promise<void> {
  const end = Date.now() + 20_000;
  while (groupsOf(bedDir, node).some((dir) => members(dir).length > 0)) {
    if (Date.now() > end) throw new Error(`processes of ${node ?? "the nodes"} do not end: ${bedDir}`);
    await sleep(20);
  }
}

/**
 * Waits for the last process of a node (of all without one) and removes its groups. A boot must find none: the
 * kubelet would look for the containers of each for seconds.
 */
export async function removeGroups(bedDir: string, node?: string): Promise<void> {
  await groupsEmpty(bedDir, node);
  const end = Date.now() + 5000;
  for (;;) {
    for (const dir of groupsOf(bedDir, node)) {
      try {
        rmdirSync(dir);
      } catch (error) {
        // EBUSY: the last process is dead but not yet forgotten.
        if (!["EBUSY", "ENOENT"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
      }
    }
    if (groupsOf(bedDir, node).length === 0) return;
    if (Date.now() > end) throw new Error(`cannot remove ${groupsOf(bedDir, node).join(", ")}`);
    await sleep(20);
  }
}
