/**
 * The thread of one process's life. All its seams hang on it: after its death no call returns and no timer fires, as
 * when a process is killed; while it is frozen everything waits, and time goes on. What an effect is, and what goes
 * wrong with it, the world says.
 */
import type { Clock } from "../../src/seams/clock.ts";
import { RpcFailure, type EtcdTransport } from "../../src/seams/etcd-transport.ts";
import { ETCD_CHANGES } from "./product-run.ts";

/** What it is about to do, for the oracles. */
export interface EtcdWatch {
  onRemove(memberID: string): void;
  onPromote(memberID: string): void;
}

export const NEVER = new Promise<never>(() => {});

export abstract class ProcessLife {
  alive = true;
  /** How far the wall clock of its machine is ahead of the others. */
  aheadMs = 0;
  readonly #onDeath: (reason: string) => void;
  readonly #watch: EtcdWatch;
  #frozen: PromiseWithResolvers<void> | undefined;

  constructor(onDeath: (reason: string) => void, watch: EtcdWatch) {
    this.#onDeath = onDeath;
    this.#watch = watch;
  }

  /** One write at a seam; `lost` is what is heard of it when no answer comes, in time or at all. */
  protected abstract effect<T>(
    name: string,
    work: () => Promise<T>,
    lost: (late: boolean) => Error,
    signal: AbortSignal,
  ): Promise<T>;

  /** It is about to read from etcd. */
  protected onRead(): void {}

  /** Resolves when it is thawed; undefined while it runs. */
  get frozen(): Promise<void> | undefined {
    return this.#frozen?.promise;
  }

  cut(reason: string): void {
    if (!this.alive) return;
    this.alive = false;
    this.#onDeath(reason);
  }

  freeze(): void {
    this.#frozen ??= Promise.withResolvers();
  }

  thaw(): void {
    this.#frozen?.resolve();
    this.#frozen = undefined;
  }

  /** What comes from outside is taken in only by a process that lives and runs. */
  protected async taken<T>(work: Promise<T>): Promise<T> {
    try {
      const result = await work;
      while (this.frozen) await this.frozen;
      return this.alive ? result : await NEVER;
    } catch (error) {
      while (this.frozen) await this.frozen;
      if (!this.alive) return await NEVER;
      throw error;
    }
  }

  protected async guard<T>(work: () => Promise<T>): Promise<T> {
    return this.alive ? await this.taken(work()) : await NEVER;
  }

  clock(clock: Clock): Clock {
    return {
      now: () => clock.now() + this.aheadMs,
      monotonic: () => clock.monotonic(),
      timer: (ms, fire) =>
        clock.timer(ms, () => {
          if (!this.alive) return;
          if (this.frozen) void this.frozen.then(() => this.alive && fire());
          else fire();
        }),
    };
  }

  etcd(transport: EtcdTransport): EtcdTransport {
    const lost = (late: boolean) =>
      late
        ? new RpcFailure("DEADLINE_EXCEEDED", "context deadline exceeded", "interrupted")
        : new RpcFailure("UNAVAILABLE", "connection reset", "interrupted");
    return {
      unary: (call, endpoint, request, options) => {
        const name = `${call.parent.name}.${call.name}`;
        const work = () => transport.unary(call, endpoint, request, options);
        if (!ETCD_CHANGES.has(name) || !this.alive) {
          this.onRead();
          return this.guard(work);
        }
        if (name === "Cluster.MemberRemove") this.#watch.onRemove(idOf(request));
        if (name === "Cluster.MemberPromote") this.#watch.onPromote(idOf(request));
        return this.effect(name, work, lost, options.signal);
      },
      stream: (call, endpoint, options) => transport.stream(call, endpoint, options),
      close: () => this.guard(() => transport.close()),
    };
  }
}

function idOf(request: unknown): string {
  return (request as { id: bigint }).id.toString(16);
}
