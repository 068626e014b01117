/**
 * What Jobs do for snapshots on Kubernetes, as processes of this machine: `quorate snapshot …`, started again after a
 * failure that may pass, and stopped at a deadline. A process outlives a controller that is killed; the next one knows it
 * again by the file that it writes its result to, and waits for it instead of starting another. One that is to be removed
 * is deleting until its process has ended, and nobody waits for that: a store that hangs may keep it for ever.
 */
import path from "node:path";
import type { JobFacts, JobState, SnapshotTask, TakenFacts } from "../core/snapshots/facts.ts";
import { doubledMs, type Backoff } from "../seams/backoff.ts";
import { deadline, sleep, type Clock } from "../seams/clock.ts";
import type { Disk } from "../seams/disk.ts";
import type { ProcessExit, Processes, RunningProcess } from "../seams/processes.ts";
import { parseTransfer } from "../snapshot/progress.ts";
import { parseResult } from "../snapshot/result.ts";

/** How this program is started once more. */
export interface Program {
  readonly command: string;
  /** Before the words of the command line. */
  readonly args: readonly string[];
}

export interface JobRequest {
  readonly name: string;
  /** Of the EtcdSnapshot. */
  readonly uid: string;
  readonly task: SnapshotTask;
  readonly attempt: number;
  /** The Job whose process has to have ended before; that of a controller that was killed is ended first. */
  readonly after?: string;
  /** The command line but for where its result goes. */
  readonly args: readonly string[];
  readonly deadlineSeconds: number;
  /** Where the objects of its destination are, with a slash at its end. */
  readonly folder: string;
}

interface Job {
  readonly request: JobRequest;
  readonly stop: AbortController;
  readonly done: Promise<void>;
  state: { readonly is: "waiting"; readonly why?: string } | Extract<JobState, { is: "running" }> | Ended;
}

type Ended =
  | (Omit<Extract<JobState, { is: "succeeded" }>, "agoMs"> & { readonly at: number })
  | (Omit<Extract<JobState, { is: "failed" }>, "agoMs"> & { readonly at: number });

interface JobSeams {
  readonly disk: Disk;
  readonly clock: Clock;
  readonly processes: Processes;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Failures that may pass, before the Job has failed: as on Kubernetes. */
const RETRIES = 3;
const WAITS: Backoff = { firstMs: 10_000, longestMs: 40_000 };
/** Exit codes that another attempt would end with too: what was asked is wrong, not allowed, or damaged. */
const DEFINITE: readonly (number | undefined)[] = [2, 4, 8];
const STOPS_WITHIN_MS = 10_000;

export class SnapshotJobs {
  readonly #directory: string;
  readonly #seams: JobSeams;
  readonly #program: Program;
  readonly #onEvent: () => void;
  readonly #jobs = new Map<string, Job>();

  constructor(directory: string, seams: JobSeams, program: Program, onEvent: () => void) {
    this.#directory = directory;
    this.#seams = seams;
    this.#program = program;
    this.#onEvent = onEvent;
  }

  /** How far those are that run. */
  async read(): Promise<void> {
    for (const job of this.#jobs.values()) {
      if (job.state.is !== "running") continue;
      const { is, pod } = job.state;
      const transfer = parseTransfer(await this.#seams.disk.read(this.#report(job.request.name)));
      // It may have ended meanwhile.
      if (job.state.is === "running") job.state = { is, pod, ...(transfer && { transfer }) };
    }
  }

  factsOf(uid: string): JobFacts[] {
    return [...this.#jobs.values()]
      .filter(({ request }) => request.uid === uid)
      .map(({ request: { name, task, attempt }, stop, state }) => ({
        name,
        uid: name,
        task,
        attempt,
        deleting: stop.signal.aborted,
        state: this.#stateOf(state),
      }));
  }

  #stateOf(state: Job["state"]): JobState {
    if (state.is === "waiting" || state.is === "running") return state;
    const { at, ...rest } = state;
    return { ...rest, agoMs: Math.max(0, this.#seams.clock.now() - at) };
  }

  start(request: JobRequest): void {
    if (this.#jobs.has(request.name)) return;
    const stop = new AbortController();
    const job: Job = {
      request,
      stop,
      state: { is: "waiting" },
      done: Promise.resolve().then(() => this.#work(job)),
    };
    this.#jobs.set(request.name, job);
  }

  /** Its process is stopped, and nothing of it is known any more once it has ended. */
  remove(name: string): void {
    const job = this.#jobs.get(name);
    if (!job || job.stop.signal.aborted) return;
    job.stop.abort();
    void job.done.then(() => {
      this.#jobs.delete(name);
      this.#onEvent();
    });
  }

  /** Those of snapshots that are gone. */
  keepOnly(uids: ReadonlySet<string>): void {
    for (const { request } of this.#jobs.values()) if (!uids.has(request.uid)) this.remove(request.name);
  }

  /** Stops all of them, as far as they can be stopped: the next controller starts again what had not ended. */
  async close(): Promise<void> {
    const all = [...this.#jobs.values()];
    for (const { request } of all) this.remove(request.name);
    using limit = deadline(this.#seams.clock, 2 * STOPS_WITHIN_MS);
    await Promise.race([Promise.all(all.map(({ done }) => done)), untilAborted(limit.signal)]);
  }

  async #work(job: Job): Promise<void> {
    const { clock } = this.#seams;
    const { signal } = job.stop;
    const end = (state: Ended) => this.#become(job, state);
    using limit = deadline(clock, job.request.deadlineSeconds * 1_000, signal);
    for (let tries = 0; ; tries++) {
      const last = await this.#attempt(job, limit.signal).catch(failedToStart);
      if (signal.aborted) return;
      const at = clock.now();
      if (last.ok) return end({ ...last.state, at });
      const { reason, message } = last;
      if (limit.signal.aborted)
        return end({
          is: "failed",
          at,
          reason: "DeadlineExceeded",
          message: `it took longer than spec.activeDeadlineSeconds; last: ${message}`,
          reported: true,
        });
      if (DEFINITE.includes(last.code) || tries >= RETRIES)
        return end({ is: "failed", at, reason, message, reported: true });
      this.#become(job, { is: "waiting", why: `the last attempt failed: ${message}` });
      await sleep(clock, doubledMs(tries + 1, WAITS), limit.signal).catch(() => undefined);
      if (signal.aborted) return;
    }
  }

  #become(job: Job, state: Job["state"]): void {
    job.state = state;
    this.#onEvent();
  }

  async #attempt(job: Job, signal: AbortSignal): Promise<Attempt> {
    const { request } = job;
    const { disk } = this.#seams;
    const file = this.#result(request.name);
    await disk.makeDirectory(this.#directory);
    if (request.after !== undefined) await this.#endFormer(job, this.#result(request.after));
    signal.throwIfAborted();
    const running = (await this.#former(file)) ?? (await this.#spawn(request, file));
    this.#become(job, { is: "running", pod: String(running.pid) });
    const { code } = await this.#ended(job, running, signal);
    const result = parseResult(await disk.read(file));
    await disk.remove(file);
    await this.#forgetReport(request.name);
    if (result?.ok !== true)
      return {
        ok: false,
        code,
        reason: result?.reason ?? "JobFailed",
        message: result?.message ?? `its process ended without a result; see ${this.#log(request)}`,
      };
    await disk.remove(this.#log(request));
    const { snapshot, verified } = result;
    const { object, ...facts } = snapshot ?? {};
    const taken: { taken?: TakenFacts } =
      object === undefined ? {} : { taken: { ...facts, uri: `${request.folder}${object}` } };
    return { ok: true, state: { is: "succeeded", ...taken, ...(verified && { verified }) } };
  }

  /** Of a controller that was killed meanwhile. */
  async #former(file: string): Promise<RunningProcess | undefined> {
    for (const identity of await this.#seams.processes.find(file)) {
      const found = await this.#seams.processes.adopt(identity);
      if (found) return found;
    }
    return undefined;
  }

  /** What it still wrote to the store would be there for good. */
  async #endFormer(job: Job, file: string): Promise<void> {
    for (let found; (found = await this.#former(file)) !== undefined;) {
      this.#become(job, {
        is: "waiting",
        why: `process ${found.pid}, which takes the snapshot, is stopped first`,
      });
      await this.#ended(job, found, AbortSignal.abort());
    }
    await this.#seams.disk.remove(file);
  }

  async #spawn(request: JobRequest, file: string): Promise<RunningProcess> {
    const report = this.#report(request.name);
    await this.#seams.disk.remove(file);
    await this.#forgetReport(request.name);
    const tells = request.task === "delete" ? [] : ["--report-file", report];
    return await this.#seams.processes.spawn({
      command: this.#program.command,
      args: [...this.#program.args, ...request.args, "--result-file", file, ...tells],
      env: this.#seams.env,
      cwd: this.#directory,
      log: this.#log(request),
    });
  }

  #result(name: string): string {
    return path.join(this.#directory, `${name}.result`);
  }

  /** With what a process that was killed was about to write. It must not be what a Job fails by. */
  async #forgetReport(name: string): Promise<void> {
    const report = this.#report(name);
    for (const file of [report, `${report}.new`]) await this.#seams.disk.remove(file).catch(() => undefined);
  }

  #report(name: string): string {
    return path.join(this.#directory, `${name}.report`);
  }

  #log({ name }: JobRequest): string {
    return path.join(this.#directory, `${name}.log`);
  }

  /** With the signal it is asked to end, and made to if it does not. */
  async #ended(job: Job, running: RunningProcess, signal: AbortSignal): Promise<{ readonly code?: number }> {
    const aborted = new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      else signal.addEventListener("abort", () => resolve(), { once: true });
    });
    const first = await Promise.race([running.exit, aborted]);
    if (first !== undefined) return first;
    running.signal("SIGTERM");
    const stopped = await this.#endsSoon(running);
    if (stopped !== undefined) return stopped;
    running.signal("SIGKILL");
    const killed = await this.#endsSoon(running);
    if (killed !== undefined) return killed;
    // Nobody waits for one that is removed, and it is not gone before.
    if (job.stop.signal.aborted) return await running.exit;
    throw new Error(
      `process ${running.pid} did not end within ${STOPS_WITHIN_MS / 1_000} s of SIGKILL: its store, such as an NFS mount, may hang`,
    );
  }

  async #endsSoon(running: RunningProcess): Promise<ProcessExit | undefined> {
    using limit = deadline(this.#seams.clock, STOPS_WITHIN_MS);
    return await Promise.race([running.exit, untilAborted(limit.signal)]);
  }
}

type Attempt =
  | { readonly ok: true; readonly state: Omit<Extract<JobState, { is: "succeeded" }>, "agoMs"> }
  | {
      readonly ok: false;
      readonly code?: number | undefined;
      readonly reason: string;
      readonly message: string;
    };

function failedToStart(error: unknown): Attempt {
  return { ok: false, reason: "JobFailed", message: error instanceof Error ? error.message : String(error) };
}

function untilAborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve(undefined), { once: true });
  });
}
