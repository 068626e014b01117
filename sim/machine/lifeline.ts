/**
 * The thread of one controller's life. All its seams hang on it: after its death no call returns, no timer
 * fires and nothing is done any more, as when a process is killed. It can be cut after any numbered effect.
 */
import type { Clock } from "../../src/seams/clock.ts";
import type { Disk } from "../../src/seams/disk.ts";
import { RpcFailure, type EtcdTransport } from "../../src/seams/etcd-transport.ts";
import type { Processes, RunningProcess } from "../../src/seams/processes.ts";
import { ETCD_CHANGES } from "../product-run.ts";

export interface LifelineFaults {
  readonly crashAfter?: ReadonlySet<number>;
  readonly loseReplyOf?: ReadonlySet<number>;
}

/** Counts over all lives of a run. */
export class EffectCount {
  count = 0;
  readonly names: string[] = [];
}

/** What the controller is about to do, for the oracles. */
export interface Watch {
  onRemove(memberID: string): void;
  onPromote(memberID: string): void;
  /** A process, by pid, is told to end. */
  onStop(pid: number): void;
  /** A file or directory is removed or set aside. */
  onTake(path: string): void;
}

const NEVER = new Promise<never>(() => {});

export class Lifeline {
  alive = true;
  readonly #effects: EffectCount;
  readonly #faults: LifelineFaults;
  readonly #watch: Watch;
  readonly #onDeath: (reason: string) => void;

  constructor(around: {
    effects: EffectCount;
    faults: LifelineFaults;
    watch: Watch;
    onDeath: (reason: string) => void;
  }) {
    this.#effects = around.effects;
    this.#faults = around.faults;
    this.#watch = around.watch;
    this.#onDeath = around.onDeath;
  }

  cut(reason: string): void {
    if (!this.alive) return;
    this.alive = false;
    this.#onDeath(reason);
  }

  async #guard<T>(work: () => Promise<T>): Promise<T> {
    if (!this.alive) return await NEVER;
    try {
      const result = await work();
      return this.alive ? result : await NEVER;
    } catch (error) {
      if (!this.alive) return await NEVER;
      throw error;
    }
  }

  /** One write at a seam. */
  async #effect<T>(name: string, work: () => Promise<T>, loseReply?: () => Error): Promise<T> {
    if (!this.alive) return await NEVER;
    let result: T;
    try {
      result = await work();
    } catch (error) {
      if (!this.alive) return await NEVER;
      throw error;
    }
    if (!this.alive) return await NEVER;
    const number = this.#count(name);
    if (!this.alive) return await NEVER;
    if (loseReply && this.#faults.loseReplyOf?.has(number)) throw loseReply();
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
      exit: this.#guard(() => child.exit),
      signal: (signal) => {
        if (!this.alive) return false;
        if (signal === "SIGTERM") this.#watch.onStop(child.pid);
        const sent = child.signal(signal);
        if (sent && signal !== "SIGCONT") this.#count(`${signal} ${child.pid}`);
        return sent;
      },
    };
  }

  clock(clock: Clock): Clock {
    return {
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      timer: (ms, fire) =>
        clock.timer(ms, () => {
          if (this.alive) fire();
        }),
    };
  }

  disk(disk: Disk): Disk {
    const short = (file: string) => file.split("/").slice(-2).join("/");
    return {
      read: (file) => this.#guard(() => disk.read(file)),
      list: (directory) => this.#guard(() => disk.list(directory)),
      stat: (target) => this.#guard(() => disk.stat(target)),
      tail: (file, bytes) => this.#guard(() => disk.tail(file, bytes)),
      readBytes: (file, offset, length) => this.#guard(() => disk.readBytes(file, offset, length)),
      makeDirectory: (directory) => this.#guard(() => disk.makeDirectory(directory)),
      write: (file, text, options) =>
        this.#effect(`write ${short(file)}`, () => disk.write(file, text, options)),
      create: (file, text) => this.#effect(`create ${short(file)}`, () => disk.create(file, text)),
      rename: (from, to) => {
        this.#watch.onTake(from);
        return this.#effect(`rename ${short(from)}`, () => disk.rename(from, to));
      },
      remove: (target) => {
        this.#watch.onTake(target);
        return this.#effect(`remove ${short(target)}`, () => disk.remove(target));
      },
      overwrite: (file, offset, bytes) =>
        this.#effect(`overwrite ${short(file)}`, () => disk.overwrite(file, offset, bytes)),
    };
  }

  processes(processes: Processes): Processes {
    return {
      spawn: (request) =>
        this.#effect(`spawn ${request.log.split("/").at(-1)}`, async () =>
          this.#child(await processes.spawn(request)),
        ),
      adopt: (identity) =>
        this.#guard(async () => {
          const child = await processes.adopt(identity);
          return child && this.#child(child);
        }),
      isAlive: (identity) => this.#guard(() => processes.isAlive(identity)),
      find: (argument) => this.#guard(() => processes.find(argument)),
      self: () => this.#guard(() => processes.self()),
    };
  }

  transport(transport: EtcdTransport): EtcdTransport {
    const lost = () => new RpcFailure("UNAVAILABLE", "connection reset", "interrupted");
    return {
      unary: (call, endpoint, request, options) => {
        const name = `${call.parent.name}.${call.name}`;
        const work = () => transport.unary(call, endpoint, request, options);
        if (name === "Cluster.MemberRemove") this.#watch.onRemove(idOf(request));
        if (name === "Cluster.MemberPromote") this.#watch.onPromote(idOf(request));
        return ETCD_CHANGES.has(name) ? this.#effect(name, work, lost) : this.#guard(work);
      },
      stream: (call, endpoint, options) => transport.stream(call, endpoint, options),
      close: () => this.#guard(() => transport.close()),
    };
  }
}

function idOf(request: unknown): string {
  return (request as { id: bigint }).id.toString(16);
}
