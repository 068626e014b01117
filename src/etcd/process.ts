/**
 * One etcd process: started or adopted, watched until it serves, stopped with patience or without, and
 * asked afterwards why it ended. Its output is a file, so all of this works for a process that an
 * earlier life of ours started.
 */
import { deadline, sleep, type Clock } from "../seams/clock.ts";
import type { Disk } from "../seams/disk.ts";
import type { ProcessExit, ProcessIdentity, Processes, RunningProcess } from "../seams/processes.ts";
import { nextSteps, readExitReason, type ExitReason } from "./exit-reasons.ts";

/** etcd hands leadership over and closes its files on SIGTERM (R10); a large one takes its time. */
const GRACE_MS = 10_000;
/** A killed process is gone in a moment, unless it hangs in the kernel on a dead disk. */
const LONGEST_DEATH_MS = 60_000;
const READY_POLL_MS = 25;
const READY_TIMEOUT_MS = 30_000;
const KEPT_LINES = 200;
const LOG_BYTES = 256 * 1024;
/** A log larger than this is set aside as `<log>.1` before a start, so that two files bound it. */
const LARGEST_LOG_BYTES = 16 * 1024 * 1024;

export interface EtcdProcessSpec {
  /** Path of the etcd binary. */
  readonly binary: string;
  /** `["--config-file", path]`, or flags. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly log: string;
}

export interface EtcdExit extends ProcessExit {
  readonly reason: ExitReason;
  /** What etcd said about it. */
  readonly said: string;
  /** What to do, in words. */
  readonly next: string;
  /** The last lines of its log. */
  readonly tail: readonly string[];
}

/** The process ended before it served, or does not get there. */
export class EtcdStartError extends Error {
  override name = "EtcdStartError";
  readonly reason: ExitReason;
  /** Undefined when the process still runs. */
  readonly exit: EtcdExit | undefined;
  constructor(message: string, reason: ExitReason, exit?: EtcdExit) {
    super(`${message}; ${nextSteps[reason]}`);
    this.reason = reason;
    this.exit = exit;
  }
}

export interface ProcessWorld {
  readonly processes: Processes;
  readonly disk: Disk;
  readonly clock: Clock;
}

export class EtcdProcess {
  /** Resolves when the process has ended, with the reason read from its log. */
  readonly exited: Promise<EtcdExit>;
  readonly #process: RunningProcess;
  readonly #world: ProcessWorld;
  readonly #log: string;
  readonly #logStart: number;
  #wanted: "run" | "stop" = "run";
  #exit: EtcdExit | undefined;

  private constructor(process: RunningProcess, world: ProcessWorld, log: string, logStart: number) {
    this.#process = process;
    this.#world = world;
    this.#log = log;
    this.#logStart = logStart;
    this.exited = process.exit.then(async (exit) => (this.#exit = await this.#explain(exit)));
  }

  static async start(world: ProcessWorld, spec: EtcdProcessSpec): Promise<EtcdProcess> {
    const { disk } = world;
    let logStart = (await disk.stat(spec.log))?.size ?? 0;
    if (logStart > LARGEST_LOG_BYTES) {
      await disk.rename(spec.log, `${spec.log}.1`);
      logStart = 0;
    }
    const { binary: command, args, env, cwd, log } = spec;
    return new EtcdProcess(
      await world.processes.spawn({ command, args, env, cwd, log }),
      world,
      log,
      logStart,
    );
  }

  /** The process that an earlier life of ours started, if it still runs. */
  static async adopt(
    world: ProcessWorld,
    identity: ProcessIdentity,
    log: string,
  ): Promise<EtcdProcess | undefined> {
    const process = await world.processes.adopt(identity);
    return process === undefined ? undefined : new EtcdProcess(process, world, log, 0);
  }

  get identity(): ProcessIdentity {
    return { pid: this.#process.pid, startTime: this.#process.startTime };
  }

  /** Undefined while it runs. */
  get exit(): EtcdExit | undefined {
    return this.#exit;
  }

  /**
   * Waits until `serves` says so (by Status, or `/livez`). Rejects with `EtcdStartError` as soon as the
   * process ends, or when the time is up.
   */
  async ready(
    serves: (signal: AbortSignal) => Promise<boolean>,
    options: { timeoutMs?: number; signal?: AbortSignal } = {},
  ): Promise<void> {
    const timeoutMs = options.timeoutMs ?? READY_TIMEOUT_MS;
    const { clock } = this.#world;
    const ended = new AbortController();
    void this.exited.then(() => ended.abort());
    using limit = deadline(clock, timeoutMs, options.signal);
    while (!limit.signal.aborted) {
      if (this.#exit !== undefined) throw startError(this.#exit);
      if (await serves(limit.signal).catch(() => false)) return;
      await sleep(clock, READY_POLL_MS, ended.signal).catch(() => undefined);
      if (ended.signal.aborted) await this.exited;
    }
    options.signal?.throwIfAborted();
    // It may hang on what others only log, such as peers of another cluster.
    const { reason, said } = readExitReason(await this.tail(KEPT_LINES));
    throw new EtcdStartError(`etcd is not serving after ${timeoutMs} ms: ${said}`, reason);
  }

  /** SIGTERM, patience, then SIGKILL. */
  async stop(options: { graceMs?: number } = {}): Promise<EtcdExit> {
    this.#wanted = "stop";
    this.#process.signal("SIGTERM");
    // A stopped process (SIGSTOP) takes no SIGTERM until it goes on.
    this.#process.signal("SIGCONT");
    return (await this.#ended(options.graceMs ?? GRACE_MS)) ?? (await this.kill());
  }

  /** SIGKILL, as a power cut would. */
  async kill(): Promise<EtcdExit> {
    this.#wanted = "stop";
    this.#process.signal("SIGKILL");
    return (await this.#ended(LONGEST_DEATH_MS)) ?? (await this.exited);
  }

  /** Freezes or continues the process, for tests and drills. */
  pause(): boolean {
    return this.#process.signal("SIGSTOP");
  }

  resume(): boolean {
    return this.#process.signal("SIGCONT");
  }

  /** The last lines of this run's log. */
  async tail(lines: number): Promise<readonly string[]> {
    return (await readTail(this.#world.disk, this.#log, this.#logStart)).slice(-lines);
  }

  /** The exit, or nothing after `ms`. The timer also keeps us awake: a detached child does not. */
  async #ended(ms: number): Promise<EtcdExit | undefined> {
    return await new Promise((resolve) => {
      const timer = this.#world.clock.timer(ms, () => resolve(undefined));
      void this.exited.then((exit) => {
        timer.cancel();
        resolve(exit);
      });
    });
  }

  async #explain(exit: ProcessExit): Promise<EtcdExit> {
    const tail = (await readTail(this.#world.disk, this.#log, this.#logStart)).slice(-KEPT_LINES);
    const found = explainExit(exit, tail, this.#wanted === "stop");
    return { ...exit, ...found, next: nextSteps[found.reason], tail };
  }
}

function startError(exit: EtcdExit): EtcdStartError {
  return new EtcdStartError(`etcd exited before it served: ${exit.said}`, exit.reason, exit);
}

/** Why a process ended: by our wish, by a signal, or for what its log says. */
export function explainExit(
  exit: ProcessExit,
  tail: readonly string[],
  wanted: boolean,
): { reason: ExitReason; said: string } {
  // etcd raises the signal again after a clean shutdown, so its end looks like one by SIGTERM.
  if (exit.signal === "SIGTERM" || exit.signal === "SIGINT")
    return { reason: "stopped", said: `ended by ${exit.signal}` };
  if (exit.signal === "SIGKILL") return { reason: "killed", said: "ended by SIGKILL" };
  const found = readExitReason(tail);
  if (wanted && found.reason === "unknown") return { reason: "stopped", said: "stopped" };
  return found;
}

/** The lines a process wrote from `start` on. Also for one that ended while nobody watched. */
export async function readTail(disk: Disk, log: string, start: number): Promise<readonly string[]> {
  const size = (await disk.stat(log))?.size ?? 0;
  // Shorter than where we began: it was set aside and begun anew.
  const own = start > size ? size : size - start;
  const text = await disk.tail(log, Math.min(own, LOG_BYTES));
  const lines = text.split("\n").filter((line) => line !== "");
  // An adopted process's log holds earlier runs too; this one began with the last such line.
  const begin = start > 0 ? 0 : lines.findLastIndex((line) => line.includes('"msg":"Running: "'));
  return lines.slice(Math.max(0, begin));
}
