/**
 * The processes of the members: what a kubelet is to Pods. Starts what should run, starts it again when it
 * ends, stops it when a step says so, knows it again after the controller's own death. Whether a process
 * should run is not decided here.
 */
import type { RestoreFault } from "../api/bootstrap.ts";
import type { ExitCause, WorkloadFacts } from "../core/observation.ts";
import type { MemberRecord } from "../core/record.ts";
import { startHash } from "../core/template/template.ts";
import { EtcdProcess, explainExit, readTail, type EtcdExit } from "../etcd/process.ts";
import type { Clock } from "../seams/clock.ts";
import type { Disk } from "../seams/disk.ts";
import { describeHolder, type Ports } from "../seams/ports.ts";
import type { Processes } from "../seams/processes.ts";
import { HOST, portsOf } from "./addresses.ts";
import type { Layout } from "./layout.ts";
import { CAUSES } from "../control/exit-causes.ts";
import { quickEndsAfter, readRunFiles, restartAt, writeRunFile, type RunFile } from "./run-file.ts";

export interface WorkloadSeams {
  readonly disk: Disk;
  readonly clock: Clock;
  readonly processes: Processes;
  readonly ports: Ports;
}

interface Workload {
  run: RunFile;
  process?: EtcdProcess;
}

export class Workloads {
  readonly #layout: Layout;
  readonly #seams: WorkloadSeams;
  readonly #env: Readonly<Record<string, string | undefined>>;
  readonly #onEvent: () => void;
  readonly #workloads = new Map<string, Workload>();
  readonly #waiting = new Map<string, { reason: string; since: number; restoring?: boolean }>();
  /** Members whose files are being worked on: not started meanwhile. */
  readonly #held = new Set<string>();
  /** What ended processes cause; the controller's end waits for it. */
  #writes: Promise<void> = Promise.resolve();
  /** Run files change in the order in which it was asked for: a late write must not bring a forgotten one back. */
  #files: Promise<void> = Promise.resolve();
  #detach = false;

  constructor(
    layout: Layout,
    seams: WorkloadSeams,
    env: Readonly<Record<string, string | undefined>>,
    onEvent: () => void,
  ) {
    this.#layout = layout;
    this.#seams = seams;
    // Variables of etcd's own would override what the configuration says.
    this.#env = Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith("ETCD_")));
    this.#onEvent = onEvent;
  }

  /** Finds what an earlier controller left running, or ended. Changes nothing. */
  async load(members: readonly string[]): Promise<void> {
    const files = await readRunFiles(this.#seams.disk, this.#layout);
    for (const name of new Set([...members, ...files.keys()])) {
      const run = files.get(name);
      const process = await this.#adopt(name, run);
      if (run) this.#workloads.set(name, { run });
      if (process) {
        const known = run ?? {
          startedFrom: "",
          startedAt: this.#seams.clock.now(),
          restarts: 0,
          quickEnds: 0,
        };
        const { exit: _exit, ...running } = { ...known, identity: process.identity };
        this.#watch(name, { run: running, process });
      } else if (run && !run.exit) {
        // Also when it was being stopped: that is over, and a step forgets it as any other that has ended.
        const { stoppingSince: _over, ...ended } = run;
        const { cause, detail } = await this.#autopsy(name);
        const exit = { at: this.#seams.clock.now(), cause, detail };
        this.#workloads.set(name, { run: { ...ended, exit } });
      }
    }
  }

  /** By the identity on record, else by its arguments: the controller may have died before it wrote the pid. */
  async #adopt(name: string, run: RunFile | undefined): Promise<EtcdProcess | undefined> {
    const log = this.#layout.logOf(name);
    if (run?.identity && !run.exit) {
      const process = await EtcdProcess.adopt(this.#seams, run.identity, log);
      if (process) return process;
    }
    if (run?.exit) return undefined;
    const [orphan] = await this.#seams.processes.find(this.#argument(name));
    return orphan && (await EtcdProcess.adopt(this.#seams, orphan, log));
  }

  async #autopsy(name: string): Promise<{ cause: ExitCause; detail: string }> {
    const tail = await readTail(this.#seams.disk, this.#layout.logOf(name), 0);
    const { reason, said } = explainExit({}, tail, false);
    return { cause: CAUSES[reason], detail: said };
  }

  #argument(name: string): string {
    return `--config-file=${this.#layout.configOf(name)}`;
  }

  names(): string[] {
    return [...this.#workloads.keys()];
  }

  facts(name: string): WorkloadFacts {
    const workload = this.#workloads.get(name);
    const waiting = this.#waiting.get(name);
    if (!workload) return waiting ? { state: "waiting", ...waiting } : { state: "absent" };
    const { startedFrom, startedAt: since, restarts, exit, stoppingSince, lastEnd } = workload.run;
    if (stoppingSince !== undefined) return { state: "stopping", since: stoppingSince, startedFrom };
    if (exit) {
      return {
        state: "exited",
        since: exit.at,
        startedFrom,
        restarts,
        cause: exit.cause,
        detail: exit.detail,
        ...(exit.restore && { restore: exit.restore }),
      };
    }
    return { state: "running", since, startedFrom, restarts, ...(lastEnd && { lastEnd }) };
  }

  /** Tells one process of a member from the next; a time only to itself. */
  startOf(name: string): number {
    return this.#workloads.get(name)?.run.startedAt ?? 0;
  }

  /** It has just served through quorum. */
  noteServing(name: string): void {
    const workload = this.#workloads.get(name);
    if (workload && !workload.run.exit && !workload.run.served)
      workload.run = { ...workload.run, served: true };
  }

  identity(name: string): { pid: number } | undefined {
    return this.#workloads.get(name)?.process?.identity;
  }

  /** When an ended process may be started; undefined while it runs, is being stopped, or must not. */
  startableAt(name: string): number | undefined {
    if (this.#held.has(name)) return undefined;
    const workload = this.#workloads.get(name);
    if (!workload) return 0;
    return workload.run.stoppingSince === undefined
      ? restartAt(workload.run, this.#seams.clock.now())
      : undefined;
  }

  /** It should run but cannot yet. */
  wait(name: string, reason: string, more: { readonly restoring?: boolean } = {}): void {
    const since = this.#waiting.get(name)?.since ?? this.#seams.clock.now();
    this.#waiting.set(name, { reason, since, ...more });
  }

  /** Records why it is not started, as if it had been and had ended. */
  async refuse(
    record: MemberRecord,
    cause: ExitCause,
    detail: string,
    restore?: RestoreFault,
  ): Promise<void> {
    const at = this.#seams.clock.now();
    const before = this.#workloads.get(record.name)?.run;
    const run: RunFile = {
      startedFrom: startHash(record),
      startedAt: at,
      restarts: before?.restarts ?? 0,
      quickEnds: (before?.quickEnds ?? 0) + 1,
      exit: { at, cause, detail, ...(restore && { restore }) },
    };
    this.#waiting.delete(record.name);
    this.#workloads.set(record.name, { run });
    await this.#save(record.name, run);
  }

  /** Starts the process of a record whose configuration is in place. */
  async start(record: MemberRecord, etcd: string): Promise<void> {
    const { name } = record;
    const taken = await this.#takenPort(record);
    if (taken !== undefined) return await this.refuse(record, "address-in-use", taken);
    const before = this.#workloads.get(name)?.run;
    const run: RunFile = {
      startedFrom: startHash(record),
      startedAt: this.#seams.clock.now(),
      restarts: before ? before.restarts + 1 : 0,
      quickEnds: before?.quickEnds ?? 0,
      ...(before?.exit && { lastEnd: { cause: before.exit.cause, detail: before.exit.detail } }),
    };
    // Before the process exists: should we die in between, its start is known and it is found by its arguments.
    await this.#save(name, run);
    await this.#seams.disk.makeDirectory(this.#layout.logs);
    const process = await EtcdProcess.start(this.#seams, {
      binary: etcd,
      args: [this.#argument(name)],
      env: this.#env,
      cwd: this.#layout.dir,
      log: this.#layout.logOf(name),
    });
    const running = { ...run, identity: process.identity };
    this.#waiting.delete(name);
    this.#watch(name, { run: running, process });
    await this.#save(name, running);
  }

  async #takenPort({ address }: MemberRecord): Promise<string | undefined> {
    for (const port of portsOf(address)) {
      if (await this.#seams.ports.isFree(HOST, port)) continue;
      return describeHolder(port, await this.#seams.ports.holder(port));
    }
    return undefined;
  }

  #watch(name: string, workload: Workload & { process: EtcdProcess }): void {
    this.#workloads.set(name, workload);
    void workload.process.exited.then((exit) => {
      this.#writes = this.#writes
        .then(() => this.#ended(name, workload.process, exit))
        .catch(() => undefined);
    });
    if (workload.run.stoppingSince !== undefined) void workload.process.stop();
  }

  async #ended(name: string, process: EtcdProcess, exit: EtcdExit): Promise<void> {
    const workload = this.#workloads.get(name);
    if (this.#detach || workload?.process !== process) return;
    const at = this.#seams.clock.now();
    if (workload.run.stoppingSince !== undefined) {
      await this.#forget(name);
    } else {
      const { identity: _gone, ...rest } = workload.run;
      const detail = exit.signal === undefined ? exit.said : `ended by ${exit.signal}`;
      const quickEnds = quickEndsAfter(workload.run, at);
      const run: RunFile = { ...rest, quickEnds, exit: { at, cause: CAUSES[exit.reason], detail } };
      this.#workloads.set(name, { run });
      await this.#save(name, run);
    }
    this.#onEvent();
  }

  /** Ends it with patience; "stopping" until it is gone, then absent. One that has ended is absent at once. */
  async stop(name: string): Promise<void> {
    this.#waiting.delete(name);
    const workload = this.#workloads.get(name);
    if (!workload) return;
    const { process } = workload;
    if (!process) return await this.#forget(name);
    if (workload.run.stoppingSince !== undefined) return;
    workload.run = { ...workload.run, stoppingSince: this.#seams.clock.now() };
    await this.#save(name, workload.run);
    void process.stop();
  }

  /** A fault made on purpose: the process dies, and is started again as after any crash. */
  async kill(name: string, how: "SIGKILL" | "SIGTERM"): Promise<boolean> {
    const process = this.#workloads.get(name)?.process;
    if (!process) return false;
    await (how === "SIGKILL" ? process.kill() : process.stop());
    await this.#writes;
    return true;
  }

  /** Kills the process and keeps it from being started while `work` changes its files. */
  async whileDown<T>(name: string, work: () => Promise<T>): Promise<T> {
    this.#held.add(name);
    try {
      await this.kill(name, "SIGKILL");
      return await work();
    } finally {
      this.#held.delete(name);
      this.#onEvent();
    }
  }

  /** Ends these processes, all at once, and waits until they are gone. */
  async stopAndWait(names: readonly string[]): Promise<void> {
    const ends = names.map(async (name) => {
      const process = this.#workloads.get(name)?.process;
      await this.stop(name);
      await process?.exited;
    });
    await Promise.all(ends);
    await this.#writes;
  }

  /** The directory may be another controller's from here on: the ends of processes are none of ours. */
  async detach(): Promise<void> {
    this.#detach = true;
    await this.#files;
  }

  async #forget(name: string): Promise<void> {
    this.#workloads.delete(name);
    await this.#inOrder(() => this.#seams.disk.remove(this.#layout.runOf(name)));
  }

  async #save(name: string, run: RunFile): Promise<void> {
    await this.#inOrder(() => writeRunFile(this.#seams.disk, this.#layout, name, run));
  }

  async #inOrder(change: () => Promise<void>): Promise<void> {
    const changed = this.#files.then(change);
    this.#files = changed.catch(() => undefined);
    await changed;
  }
}
