/**
 * Child processes as a port. They are detached and write to a file, so that they outlive us and can be
 * adopted by our next life; a process is named by pid *and* start time, since pids are used again.
 */
import { execFile, spawn, type ChildProcess } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { open, readFile, rename, stat } from "node:fs/promises";
import type { Clock } from "./clock.ts";

export interface ProcessIdentity {
  readonly pid: number;
  /** What the system says of its start, boot included. Only compared, never read as a time. */
  readonly startTime: string;
}

export type ProcessExit =
  | { readonly kind: "exited"; readonly code: number }
  | { readonly kind: "signalled"; readonly signal: string }
  /** An adopted process is not our child: that it ended is all one can know. */
  | { readonly kind: "gone" };

export interface ProcessSpec {
  readonly command: string;
  readonly args: readonly string[];
  /** The whole environment of the child. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Both outputs are appended here. A large file is set aside as `<file>.1` first. */
  readonly logFile: string;
}

export type Signal = "SIGTERM" | "SIGKILL" | "SIGINT" | "SIGSTOP" | "SIGCONT";

export interface RunningProcess {
  readonly identity: ProcessIdentity;
  /** Where this run's output begins in the log file; 0 when adopted. */
  readonly logOffset: number;
  readonly exited: Promise<ProcessExit>;
  /** False when the process is gone already. */
  signal(signal: Signal): Promise<boolean>;
}

export interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Processes {
  /** Starts a detached process. Rejects with `ProcessStartError`. */
  spawn(spec: ProcessSpec): Promise<RunningProcess>;
  /** The process with this identity if it still runs, else nothing. */
  adopt(identity: ProcessIdentity): Promise<RunningProcess | undefined>;
  /** Runs a command to its end and returns what it said. Rejects with `ProcessStartError`. */
  run(
    command: string,
    args: readonly string[],
    options: { env: Readonly<Record<string, string>>; cwd?: string; signal?: AbortSignal },
  ): Promise<CommandResult>;
  /** The last `maxBytes` of a log from `offset` on; empty when there is no such file. */
  readLog(file: string, offset: number, maxBytes: number): Promise<string>;
}

export class ProcessStartError extends Error {
  override name = "ProcessStartError";
  readonly command: string;
  constructor(command: string, cause: unknown) {
    const why = cause instanceof Error ? cause.message : String(cause);
    super(`cannot start ${command}: ${why}; check that the file exists and is executable`, { cause });
    this.command = command;
  }
}

const ADOPTED_POLL_MS = 200;
const LARGEST_LOG_BYTES = 16 * 1024 * 1024;
const LARGEST_OUTPUT_BYTES = 16 * 1024 * 1024;

export function systemProcesses(clock: Clock): Processes {
  return { spawn: spawnDetached, adopt: (identity) => adopt(clock, identity), run, readLog };
}

async function spawnDetached(spec: ProcessSpec): Promise<RunningProcess> {
  const logOffset = await makeRoom(spec.logFile);
  let child: ChildProcess;
  try {
    const log = openSync(spec.logFile, "a", 0o600);
    try {
      child = spawn(spec.command, [...spec.args], {
        env: { ...spec.env },
        detached: true,
        stdio: ["ignore", log, log],
        ...(spec.cwd === undefined ? {} : { cwd: spec.cwd }),
      });
    } finally {
      closeSync(log);
    }
  } catch (error) {
    throw new ProcessStartError(spec.command, error);
  }
  const exited = new Promise<ProcessExit>((resolve) => {
    child.once("exit", (code, signal) =>
      resolve(code === null ? { kind: "signalled", signal: signal ?? "unknown" } : { kind: "exited", code }),
    );
  });
  await new Promise<void>((resolve, reject) => {
    child.once("spawn", resolve);
    child.once("error", (error) => reject(new ProcessStartError(spec.command, error)));
  });
  child.unref();
  const pid = child.pid ?? 0;
  // A child that ended at once has no start time any more; it cannot be adopted, which is right.
  const startTime = (await startTimeOf(pid)) ?? "ended";
  return {
    identity: { pid, startTime },
    logOffset,
    exited,
    signal: (signal) => Promise.resolve(child.kill(signal)),
  };
}

async function adopt(clock: Clock, identity: ProcessIdentity): Promise<RunningProcess | undefined> {
  const runs = async () => (await startTimeOf(identity.pid)) === identity.startTime;
  if (!(await runs())) return undefined;
  const exited = new Promise<ProcessExit>((resolve) => {
    const look = () => {
      void runs().then((alive) => {
        if (alive) clock.timer(ADOPTED_POLL_MS, look, { background: true });
        else resolve({ kind: "gone" });
      });
    };
    clock.timer(ADOPTED_POLL_MS, look, { background: true });
  });
  return {
    identity,
    logOffset: 0,
    exited,
    // Looked at again first: the pid may belong to somebody else by now.
    signal: async (signal) => (await runs()) && kill(identity.pid, signal),
  };
}

function kill(pid: number, signal: Signal): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false; // Ended between the look and the signal.
  }
}

function run(
  command: string,
  args: readonly string[],
  options: { env: Readonly<Record<string, string>>; cwd?: string; signal?: AbortSignal },
): Promise<CommandResult> {
  return new Promise((resolve, reject) => {
    const limits = { ...options, env: { ...options.env }, maxBuffer: LARGEST_OUTPUT_BYTES };
    execFile(command, [...args], limits, (error, stdout, stderr) => {
      if (error === null) resolve({ code: 0, stdout, stderr });
      else if (typeof error.code === "number") resolve({ code: error.code, stdout, stderr });
      else reject(new ProcessStartError(command, error));
    });
  });
}

/** Returns where new output will begin. */
async function makeRoom(logFile: string): Promise<number> {
  const size = await stat(logFile).then(
    (stats) => stats.size,
    () => 0,
  );
  if (size < LARGEST_LOG_BYTES) return size;
  await rename(logFile, `${logFile}.1`);
  return 0;
}

async function readLog(file: string, offset: number, maxBytes: number): Promise<string> {
  const handle = await open(file, "r").catch(() => undefined);
  if (handle === undefined) return "";
  try {
    const { size } = await handle.stat();
    // A file shorter than our offset was set aside and begun anew.
    const from = Math.max(offset > size ? 0 : offset, size - maxBytes);
    const buffer = Buffer.alloc(Math.max(0, size - from));
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, from);
    return buffer.toString("utf8", 0, bytesRead);
  } finally {
    await handle.close();
  }
}

/** Undefined when no such process runs; a zombie has ended. */
async function startTimeOf(pid: number): Promise<string | undefined> {
  if (process.platform === "linux") {
    const line = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => undefined);
    if (line === undefined) return undefined;
    // The second field is the name in parentheses, which may hold blanks and parentheses itself.
    const [state, ...rest] = line.slice(line.lastIndexOf(")") + 2).split(" ");
    if (state === "Z" || state === "X") return undefined;
    const ticks = rest[18];
    return ticks === undefined ? undefined : `${await bootId()}/${ticks}`;
  }
  return await new Promise((resolve) => {
    execFile("ps", ["-o", "lstart=", "-p", String(pid)], (error, stdout) =>
      resolve(error === null && stdout.trim() !== "" ? stdout.trim() : undefined),
    );
  });
}

let knownBoot: string | undefined;

/** Ticks since boot repeat after a reboot; the boot's own ID does not. */
async function bootId(): Promise<string> {
  knownBoot ??= (
    await readFile("/proc/sys/kernel/random/boot_id", "utf8").catch(() => "unknown boot")
  ).trim();
  return knownBoot;
}
