/**
 * Processes of a testbed, found again by what they carry.
 *
 * Each process we start has the testbed's directory and its role in its environment, and /proc tells. So there
 * is no list that could be out of date: an `up` that is killed between starting a process and writing it
 * down leaves nothing that `down` would miss, and a reused process number is never mistaken for ours.
 */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const BED = "QUORATE_TESTBED_DIR";
const ROLE = "QUORATE_TESTBED_ROLE";
const SPEC = "QUORATE_TESTBED_SPEC";

/** Garbage is collected less often: an API server takes a fifth less time to start, for some hundred megabytes. */
const GO = { GOGC: "400", GOMEMLIMIT: "600MiB" };

export interface OwnedProcess {
  pid: number;
  /** Start time in clock ticks since boot: together with the pid it names one process for ever. */
  startTime: string;
  role: string;
  /** Hash of what it was started with; a different one means it must be restarted. */
  spec: string;
}

export interface Start {
  dir: string;
  role: string;
  spec?: string;
  file: string;
  args: string[];
  env?: Record<string, string>;
  cwd?: string;
  log: string;
}

/** The variables that make a process ours. */
export function marks(start: Pick<Start, "dir" | "role" | "spec">): Record<string, string> {
  return { [BED]: start.dir, [ROLE]: start.role, [SPEC]: start.spec ?? "" };
}

/** What this process starts from now on is its helper, not another one of its role. */
export function markHelpers(): void {
  process.env[ROLE] = `${process.env[ROLE]} helper`;
}

/** The environment a process was started with. */
export function environmentOf(pid: number): Record<string, string> {
  const entries = (read(`/proc/${pid}/environ`) ?? "").split("\0").filter(Boolean);
  return Object.fromEntries(
    entries.map((entry) => [entry.slice(0, entry.indexOf("=")), entry.slice(entry.indexOf("=") + 1)]),
  );
}

/** Starts a process in a session of its own, so that it outlives us and a Ctrl-C meant for us. */
export function startOwned(start: Start): ChildProcess {
  mkdirSync(dirname(start.log), { recursive: true });
  const log = openSync(start.log, "a");
  try {
    const child = spawn(start.file, start.args, {
      detached: true,
      cwd: start.cwd ?? start.dir,
      stdio: ["ignore", log, log],
      env: { PATH: process.env["PATH"] ?? "", HOME: start.dir, ...GO, ...start.env, ...marks(start) },
    });
    child.unref();
    return child;
  } finally {
    closeSync(log);
  }
}

/** Every living process of the testbed in `dir`. */
export function ownedProcesses(dir: string): OwnedProcess[] {
  const found: OwnedProcess[] = [];
  const mark = Buffer.from(`${BED}=${dir}\0`).toString("latin1");
  for (const entry of readdirSync("/proc")) {
    const pid = Number(entry);
    if (!Number.isInteger(pid) || pid === process.pid) continue;
    const environment = read(`/proc/${entry}/environ`);
    if (!environment?.includes(mark)) continue;
    const stat = processStat(pid);
    if (!stat || stat.state === "Z" || stat.state === "X") continue;
    const variables = environment.split("\0");
    const value = (name: string) =>
      variables.find((v) => v.startsWith(`${name}=`))?.slice(name.length + 1) ?? "";
    found.push({ pid, startTime: stat.startTime, role: value(ROLE), spec: value(SPEC) });
  }
  return found;
}

export function processStat(pid: number): { state: string; startTime: string; group: number } | undefined {
  const stat = read(`/proc/${pid}/stat`);
  if (!stat) return undefined;
  // The command's name is in parentheses and may hold spaces; the fields after it may not.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return { state: fields[0] ?? "", startTime: fields[19] ?? "", group: Number(fields[2]) };
}

/** Ends every process of the testbed that `which` picks, and those they start meanwhile. */
export async function endOwned(
  dir: string,
  which: (p: OwnedProcess) => boolean = () => true,
  deadlineMs = 15_000,
): Promise<number> {
  const seen = new Map<number, OwnedProcess>();
  const end = Date.now() + deadlineMs;
  for (;;) {
    for (const found of ownedProcesses(dir).filter(which)) {
      seen.set(found.pid, found);
      signal(found.pid, "SIGKILL");
    }
    const left = [...seen.values()].filter((p) => !hasEnded(p));
    if (left.length === 0) return seen.size;
    if (Date.now() > end) {
      throw new Error(`could not end ${left.map((p) => `${p.role} (process ${p.pid})`).join(", ")}`);
    }
    await sleep(10);
  }
}

/** A dying process loses its environment first and its sockets later, with its last thread. */
function hasEnded({ pid, startTime }: OwnedProcess): boolean {
  const stat = processStat(pid);
  if (!stat || stat.startTime !== startTime) return true;
  if (stat.state !== "Z" && stat.state !== "X") return false;
  try {
    return readdirSync(`/proc/${pid}/task`).length <= 1;
  } catch {
    return true;
  }
}

/** Sends a signal; a process that is already gone is no error. */
export function signal(pid: number, name: NodeJS.Signals): boolean {
  try {
    process.kill(pid, name);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false;
    throw error;
  }
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return undefined; // gone, or another user's
  }
}
