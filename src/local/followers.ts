/**
 * What records changes for schedules on one machine: `quorate snapshot follow` as a process for each, started again when
 * it ends. It outlives a controller that is killed; the next one knows it again by the file that it reports to, whose name
 * says for which schedule and with which recipe it was started.
 */
import path from "node:path";
import type { FollowerFacts, FollowReport } from "../core/snapshots/follower-facts.ts";
import { doubledMs, type Backoff } from "../seams/backoff.ts";
import { deadline, sleep, type Clock } from "../seams/clock.ts";
import type { Disk } from "../seams/disk.ts";
import type { Processes, RunningProcess } from "../seams/processes.ts";
import { parseReport } from "../snapshot/changes/report.ts";
import { parseResult } from "../snapshot/result.ts";
import type { Program } from "./snapshot-jobs.ts";

interface FollowerSeams {
  readonly disk: Disk;
  readonly clock: Clock;
  readonly processes: Processes;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface FollowRequest {
  readonly name: string;
  /** Of the EtcdSnapshotSchedule. */
  readonly schedule: string;
  readonly attempt: number;
  readonly recipe: string;
  /** The command line but for where it reports to. */
  readonly args: readonly string[];
}

interface Follower {
  readonly request: FollowRequest;
  readonly stop: AbortController;
  readonly done: Promise<void>;
  /** By the monotonic clock. */
  stoppedAt?: number;
  running?: RunningProcess | undefined;
  report?: FollowReport | undefined;
  why?: string | undefined;
}

const STOPS_WITHIN_MS = 15_000;
const WAITS: Backoff = { firstMs: 5_000, longestMs: 300_000 };
/** After so long a failure is a new one. */
const SETTLED_MS = 600_000;
const REPORT = /^follow\.([0-9a-f]+)\.(\d+)\.([0-9a-f]{16})\.report$/;

export class LocalFollowers {
  readonly #directory: string;
  readonly #seams: FollowerSeams;
  readonly #program: Program;
  readonly #onEvent: () => void;
  readonly #followers = new Map<string, Follower>();
  #looked = false;

  constructor(directory: string, seams: FollowerSeams, program: Program, onEvent: () => void) {
    this.#directory = directory;
    this.#seams = seams;
    this.#program = program;
    this.#onEvent = onEvent;
  }

  /** Reads what they report. Those of a former controller are stopped: others are started in their place. */
  async read(): Promise<void> {
    if (!this.#looked) await this.#endFormer();
    this.#looked = true;
    for (const one of this.#followers.values())
      one.report = parseReport(await this.#seams.disk.read(this.#file(one.request)));
  }

  factsOf(schedule: string): FollowerFacts[] {
    const now = this.#seams.clock.monotonic();
    return [...this.#followers.values()]
      .filter(({ request }) => request.schedule === schedule)
      .map(({ request: { name, attempt, recipe }, running, report, why, stoppedAt }) => ({
        name,
        uid: name,
        attempt,
        recipe,
        ...(stoppedAt !== undefined && { stoppingMs: now - stoppedAt }),
        state: running
          ? { is: "running", ...(report && { report }) }
          : { is: "waiting", ...(why !== undefined && { why }) },
      }));
  }

  start(request: FollowRequest): void {
    if (this.#followers.has(request.name)) return;
    const follower: Follower = {
      request,
      stop: new AbortController(),
      done: Promise.resolve()
        .then(() => this.#work(follower))
        // A file that could not be removed: the next controller does.
        .catch(() => undefined),
    };
    this.#followers.set(request.name, follower);
  }

  stop(name: string): void {
    const follower = this.#followers.get(name);
    if (!follower || follower.stoppedAt !== undefined) return;
    follower.stoppedAt = this.#seams.clock.monotonic();
    follower.stop.abort();
    void follower.done.then(() => {
      this.#followers.delete(name);
      this.#onEvent();
    });
  }

  /** Those of schedules that are gone. */
  keepOnly(schedules: ReadonlySet<string>): void {
    for (const { request } of this.#followers.values())
      if (!schedules.has(request.schedule)) this.stop(request.name);
  }

  async close(): Promise<void> {
    const all = [...this.#followers.values()];
    for (const { request } of all) this.stop(request.name);
    using limit = deadline(this.#seams.clock, 2 * STOPS_WITHIN_MS);
    await Promise.race([Promise.all(all.map(({ done }) => done)), untilAborted(limit.signal)]);
  }

  async #endFormer(): Promise<void> {
    const { disk, processes } = this.#seams;
    for (const name of await disk.list(this.#directory).catch(() => [])) {
      if (!REPORT.test(name)) continue;
      const file = path.join(this.#directory, name);
      for (const identity of await processes.find(file)) {
        const former = await processes.adopt(identity);
        if (former) await this.#end(former);
      }
      await disk.remove(file);
    }
  }

  async #work(follower: Follower): Promise<void> {
    const { clock, disk } = this.#seams;
    const { signal } = follower.stop;
    for (let failures = 1; !signal.aborted; failures++) {
      const began = clock.monotonic();
      follower.why = await this.#once(follower).catch((error: unknown) => (error as Error).message);
      follower.running = undefined;
      if (signal.aborted) break;
      if (clock.monotonic() - began > SETTLED_MS) failures = 1;
      this.#onEvent();
      await sleep(clock, doubledMs(failures, WAITS), signal).catch(() => undefined);
    }
    await disk.remove(this.#file(follower.request));
  }

  /** How it ended. */
  async #once(follower: Follower): Promise<string> {
    const { disk, processes, env } = this.#seams;
    const { request, stop } = follower;
    const result = path.join(this.#directory, `${request.name}.result`);
    const log = path.join(this.#directory, `${request.name}.log`);
    await disk.makeDirectory(this.#directory);
    await disk.remove(result);
    // Before there is a process, which the next controller finds by it; what the former one told is over.
    await disk.write(this.#file(request), "");
    stop.signal.throwIfAborted();
    const running = await processes.spawn({
      command: this.#program.command,
      args: [
        ...this.#program.args,
        ...request.args,
        "--report-file",
        this.#file(request),
        "--result-file",
        result,
      ],
      env,
      cwd: this.#directory,
      log,
    });
    follower.running = running;
    this.#onEvent();
    await Promise.race([running.exit, untilAborted(stop.signal)]);
    if (stop.signal.aborted) await this.#end(running);
    const said = parseResult(await disk.read(result));
    await disk.remove(result);
    const how = said && !said.ok ? said.message : `it ended; see ${log}`;
    return `process ${running.pid} ended and is started again: ${how}`;
  }

  /** It writes what it has before it ends. */
  async #end(running: RunningProcess): Promise<void> {
    running.signal("SIGTERM");
    using limit = deadline(this.#seams.clock, STOPS_WITHIN_MS);
    const ended = await Promise.race([running.exit, untilAborted(limit.signal)]);
    if (ended === undefined) running.signal("SIGKILL");
  }

  #file({ schedule, attempt, recipe }: FollowRequest): string {
    return path.join(this.#directory, `follow.${schedule}.${attempt}.${recipe}.report`);
  }
}

function untilAborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    else signal.addEventListener("abort", () => resolve(undefined), { once: true });
  });
}
