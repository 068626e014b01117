/** The thread of one controller's life: it can be cut after any numbered effect. */
import type { Disk } from "../../src/seams/disk.ts";
import type { Processes, RunningProcess } from "../../src/seams/processes.ts";
import type { EffectFaults } from "../driver/enumerate.ts";
import { NEVER, ProcessLife, type EtcdWatch } from "../driver/process-life.ts";

/** Counts over all lives of a run. */
export class EffectCount {
  count = 0;
  readonly names: string[] = [];
}

/** What the controller is about to do, for the oracles. */
export interface Watch extends EtcdWatch {
  /** A process, by pid, is told to end. */
  onStop(pid: number): void;
  /** A file or directory is removed or set aside. */
  onTake(path: string): void;
}

export class Lifeline extends ProcessLife {
  readonly #effects: EffectCount;
  readonly #faults: EffectFaults;
  readonly #watch: Watch;

  constructor(around: {
    effects: EffectCount;
    faults: EffectFaults;
    watch: Watch;
    onDeath: (reason: string) => void;
  }) {
    super(around.onDeath, around.watch);
    this.#effects = around.effects;
    this.#faults = around.faults;
    this.#watch = around.watch;
  }

  protected async effect<T>(
    name: string,
    work: () => Promise<T>,
    lost?: (late: boolean) => Error,
  ): Promise<T> {
    if (!this.alive) return await NEVER;
    const result = await this.taken(work());
    const number = this.#count(name);
    if (!this.alive) return await NEVER;
    if (lost && this.#faults.loseReplyOf?.has(number)) throw lost(false);
    return result;
  }

  #count(name: string): number {
    const number = ++this.#effects.count;
    this.#effects.names.push(name);
    if (this.#faults.crashAfter?.has(number)) this.cut(`after effect ${number}: ${name}`);
    return number;
  }

  #child(child: RunningProcess): RunningProcess {
    return {
      ...child,
      exit: this.guard(() => child.exit),
      signal: (signal) => {
        if (!this.alive) return false;
        if (signal === "SIGTERM") this.#watch.onStop(child.pid);
        const sent = child.signal(signal);
        if (sent && signal !== "SIGCONT") this.#count(`${signal} ${child.pid}`);
        return sent;
      },
    };
  }

  disk(disk: Disk): Disk {
    const short = (file: string) => file.split("/").slice(-2).join("/");
    return {
      read: (file) => this.guard(() => disk.read(file)),
      list: (directory) => this.guard(() => disk.list(directory)),
      stat: (target) => this.guard(() => disk.stat(target)),
      tail: (file, bytes) => this.guard(() => disk.tail(file, bytes)),
      readBytes: (file, offset, length) => this.guard(() => disk.readBytes(file, offset, length)),
      makeDirectory: (directory) => this.guard(() => disk.makeDirectory(directory)),
      write: (file, text, options) =>
        this.effect(`write ${short(file)}`, () => disk.write(file, text, options)),
      create: (file, text) => this.effect(`create ${short(file)}`, () => disk.create(file, text)),
      rename: (from, to) => {
        this.#watch.onTake(from);
        return this.effect(`rename ${short(from)}`, () => disk.rename(from, to));
      },
      remove: (target) => {
        this.#watch.onTake(target);
        return this.effect(`remove ${short(target)}`, () => disk.remove(target));
      },
      overwrite: (file, offset, bytes) =>
        this.effect(`overwrite ${short(file)}`, () => disk.overwrite(file, offset, bytes)),
    };
  }

  processes(processes: Processes): Processes {
    return {
      spawn: (request) =>
        this.effect(`spawn ${request.log.split("/").at(-1)}`, async () =>
          this.#child(await processes.spawn(request)),
        ),
      adopt: (identity) =>
        this.guard(async () => {
          const child = await processes.adopt(identity);
          return child && this.#child(child);
        }),
      isAlive: (identity) => this.guard(() => processes.isAlive(identity)),
      find: (argument) => this.guard(() => processes.find(argument)),
      self: () => this.guard(() => processes.self()),
    };
  }
}
