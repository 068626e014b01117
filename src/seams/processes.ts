/**
 * Processes as a port: start one that outlives us, know it again after our own death by pid and start
 * time, signal it, hear of its end. Output goes to a file, since a pipe would end with its reader.
 */
import { execFile, spawn as spawnChild } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import process from "node:process";

/** A pid is used again; together with the start time it names one process of one boot of the machine. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Opaque; compared as a whole. */
  readonly startTime: string;
}

export interface SpawnRequest {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Standard output and error are appended to this file. */
  readonly log: string;
}

/** Both undefined for an adopted process, whose parent we are not. */
export interface ProcessExit {
  readonly code?: number;
  readonly signal?: string;
}

export type ProcessSignal = "SIGTERM" | "SIGKILL" | "SIGSTOP" | "SIGCONT";

export interface RunningProcess extends ProcessIdentity {
  /** Resolves once when it has ended; never rejects. */
  readonly exit: Promise<ProcessExit>;
  /** False when it is gone already. */
  signal(signal: ProcessSignal): boolean;
}

export interface Processes {
  /** Starts a process in a session of its own, which goes on when we end. */
  spawn(request: SpawnRequest): Promise<RunningProcess>;
  /** Whether the process of this identity still runs. */
  isAlive(identity: ProcessIdentity): Promise<boolean>;
  /** The process of this identity, when it still runs. */
  adopt(identity: ProcessIdentity): Promise<RunningProcess | undefined>;
  /** Processes of this user that were started with exactly this argument. */
  find(argument: string): Promise<readonly ProcessIdentity[]>;
  self(): Promise<ProcessIdentity>;
}

/** A program that could not be started at all. */
export class SpawnError extends Error {
  override name = "SpawnError";
}

/** How often an adopted process is looked at: only a parent is told by the system. */
const ADOPTED_POLL_MS = 100;

export const systemProcesses: Processes = {
  spawn: async (request) => {
    const output = openSync(request.log, "a", 0o600);
    try {
      return await start(request, output);
    } finally {
      closeSync(output);
    }
  },
  isAlive,
  adopt: async (identity) => {
    if (!(await isAlive(identity))) return undefined;
    let ended = false;
    const exit = new Promise<ProcessExit>((resolve) => {
      const look = () => {
        void isAlive(identity).then((alive) => {
          if (alive) return;
          ended = true; // From here on the pid may be another's: it is not signalled any more.
          clearInterval(timer);
          resolve({});
        });
      };
      const timer = setInterval(look, ADOPTED_POLL_MS);
      timer.unref();
    });
    return { ...identity, exit, signal: (signal) => !ended && send(identity.pid, signal) };
  },
  find: async (argument) => {
    const pids = (await readdir("/proc").catch(() => [])).filter((name) => /^\d+$/.test(name));
    const found = await Promise.all(
      pids.map(async (pid) => {
        const line = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
        return line.split("\0").includes(argument) ? await identityOf(Number(pid)) : undefined;
      }),
    );
    return found.filter((identity) => identity !== undefined);
  },
  self: async () => (await identityOf(process.pid)) ?? { pid: process.pid, startTime: "unknown" },
};

async function start(request: SpawnRequest, output: number): Promise<RunningProcess> {
  const child = spawnChild(request.command, request.args, {
    cwd: request.cwd,
    env: request.env,
    detached: true,
    stdio: ["ignore", output, output],
  });
  const exit = new Promise<ProcessExit>((resolve) => {
    child.once("exit", (code, signal) => resolve({ code: code ?? undefined, signal: signal ?? undefined }));
  });
  const failure = await new Promise<Error | undefined>((resolve) => {
    child.once("spawn", () => resolve(undefined));
    child.once("error", resolve);
  });
  if (failure)
    throw new SpawnError(`cannot start ${request.command}: ${failure.message}`, { cause: failure });
  const pid = child.pid ?? 0;
  child.unref();
  const startTime = (await identityOf(pid))?.startTime ?? "ended";
  return { pid, startTime, exit, signal: (signal) => child.exitCode === null && send(pid, signal) };
}

function send(pid: number, signal: ProcessSignal): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}

async function isAlive({ pid, startTime }: ProcessIdentity): Promise<boolean> {
  return (await identityOf(pid))?.startTime === startTime;
}

function identityOf(pid: number): Promise<ProcessIdentity | undefined> {
  return process.platform === "linux" ? identityFromProc(pid) : identityFromPs(pid);
}

/** Without /proc: the start time to the second, which is as much as `ps` tells. */
function identityFromPs(pid: number): Promise<ProcessIdentity | undefined> {
  return new Promise((resolve) => {
    execFile("ps", ["-o", "state=,lstart=", "-p", String(pid)], (error, stdout) => {
      const [state = "Z", ...start] = stdout.trim().split(/\s+/);
      resolve(error !== null || state.startsWith("Z") ? undefined : { pid, startTime: start.join(" ") });
    });
  });
}

/** Fields of proc(5): the state is the 3rd and the start time the 22nd; the 2nd may hold blanks. */
async function identityFromProc(pid: number): Promise<ProcessIdentity | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => undefined);
  if (stat === undefined) return undefined;
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state, ticks] = [fields[0], fields[19]];
  // A zombie has ended; only its parent has not looked yet.
  if (state === undefined || state === "Z" || state === "X" || ticks === undefined) return undefined;
  return { pid, startTime: `${await bootId()}/${ticks}` };
}

let boot: Promise<string> | undefined;

/** Ticks count from the boot, so the boot is part of the name. */
function bootId(): Promise<string> {
  boot ??= readFile("/proc/sys/kernel/random/boot_id", "utf8").then(
    (text) => text.trim(),
    () => "boot",
  );
  return boot;
}
