/**
 * The thread of one operator's life. All its seams hang on it: after its death no call returns and no timer fires,
 * as when a process is killed; while it is frozen everything waits, and time goes on. It can be cut at any numbered
 * effect.
 */
import type { Clock } from "../../src/seams/clock.ts";
import type { EtcdProbe } from "../../src/seams/etcd-probe.ts";
import { RpcFailure, type EtcdTransport } from "../../src/seams/etcd-transport.ts";
import {
  KubeFailure,
  type KubeCallOptions,
  type KubeRequest,
  type KubeResponse,
  type KubeTransport,
} from "../../src/seams/kube-transport.ts";
import { MODIFIED, refusal } from "../models/kube/refusal.ts";
import { effectOf, etcdEffect, type EffectFault, type Effects } from "./effects.ts";

/** What the operator is about to do, for the oracles. */
export interface LifeWatch {
  onRequest(request: KubeRequest): void;
  onRemove(memberID: string): void;
  onPromote(memberID: string): void;
  onEffect(name: string): void;
  /** Nobody is to hear of what it just did for a while. */
  onUnseen(name: string): void;
}

export interface LifeOptions {
  readonly effects: Effects;
  readonly watch: LifeWatch;
  readonly onDeath: (reason: string) => void;
}

const NEVER = new Promise<never>(() => {});

export class Life {
  alive = true;
  /** How far the wall clock of its machine is ahead of the others. */
  aheadMs = 0;
  readonly #options: LifeOptions;
  #frozen: PromiseWithResolvers<void> | undefined;
  /** When etcd was first read since the last effect: what is decided now was seen from then on. */
  #lookedAt: number | undefined;
  readonly #now: () => number;

  constructor(options: LifeOptions, now: () => number) {
    this.#options = options;
    this.#now = now;
  }

  get lookedAt(): number {
    return this.#lookedAt ?? this.#now();
  }

  get frozen(): boolean {
    return this.#frozen !== undefined;
  }

  cut(reason: string): void {
    if (!this.alive) return;
    this.alive = false;
    this.#options.onDeath(reason);
  }

  freeze(): void {
    this.#frozen ??= Promise.withResolvers();
  }

  thaw(): void {
    this.#frozen?.resolve();
    this.#frozen = undefined;
  }

  /** What comes from outside is taken in only by a process that lives and runs. */
  async #taken<T>(work: Promise<T>): Promise<T> {
    try {
      const result = await work;
      while (this.#frozen) await this.#frozen.promise;
      return this.alive ? result : await NEVER;
    } catch (error) {
      while (this.#frozen) await this.#frozen.promise;
      if (!this.alive) return await NEVER;
      throw error;
    }
  }

  async #guard<T>(work: () => Promise<T>): Promise<T> {
    return this.alive ? await this.#taken(work()) : await NEVER;
  }

  /** One write, and what goes wrong with it. */
  async #effect<T>(
    name: string,
    work: () => Promise<T>,
    lost: (fault: EffectFault) => Error,
    signal: AbortSignal,
    conflict?: () => T,
  ): Promise<T> {
    if (!this.alive) return await NEVER;
    const { effects, watch } = this.#options;
    const fault = effects.begin(name);
    const number = effects.count;
    watch.onEffect(name);
    if (fault === "crash-before") this.cut(`before effect ${number}: ${name}`);
    if (!this.alive) return await NEVER;
    if (fault === "conflict" && conflict) return conflict();
    if (fault === "unseen") watch.onUnseen(name);
    const result = await this.#taken(work());
    this.#lookedAt = undefined;
    if (fault === "crash-after") this.cut(`after effect ${number}: ${name}`);
    if (!this.alive) return await NEVER;
    if (fault === "reply-lost" || fault === "unseen") throw lost(fault);
    if (fault === "timeout") {
      await this.#taken(aborted(signal));
      throw lost(fault);
    }
    return result;
  }

  clock(clock: Clock): Clock {
    return {
      now: () => clock.now() + this.aheadMs,
      monotonic: () => clock.monotonic(),
      timer: (ms, fire) =>
        clock.timer(ms, () => {
          if (!this.alive) return;
          if (this.#frozen) void this.#frozen.promise.then(() => this.alive && fire());
          else fire();
        }),
    };
  }

  kube(transport: KubeTransport): KubeTransport {
    return {
      request: (request, options) => this.#request(transport, request, options),
      stream: (request, options) =>
        this.#guard(async () => {
          const answer = await transport.stream(request, options);
          return answer.ok ? { ok: true, objects: this.#objects(answer.objects) } : answer;
        }),
      close: () => this.#guard(() => transport.close()),
    };
  }

  async *#objects(objects: AsyncIterable<unknown>): AsyncIterable<unknown> {
    for await (const one of objects) {
      while (this.#frozen) await this.#frozen.promise;
      if (!this.alive) await NEVER;
      yield one;
    }
  }

  #request(transport: KubeTransport, request: KubeRequest, options: KubeCallOptions): Promise<KubeResponse> {
    const work = () => transport.request(request, options);
    const name = effectOf(request);
    if (name === undefined || !this.alive) return this.#guard(work);
    this.#options.watch.onRequest(request);
    const lost = (fault: EffectFault) =>
      new KubeFailure("interrupted", fault === "timeout" ? "timeout" : "connection", "connection lost");
    const conflict =
      request.method === "POST"
        ? undefined
        : () => refusal(409, "Conflict", `Operation cannot be fulfilled: ${MODIFIED}`);
    return this.#effect(name, work, lost, options.signal, conflict);
  }

  etcd(transport: EtcdTransport): EtcdTransport {
    const lost = (fault: EffectFault) =>
      fault === "timeout"
        ? new RpcFailure("DEADLINE_EXCEEDED", "context deadline exceeded", "interrupted")
        : new RpcFailure("UNAVAILABLE", "connection reset", "interrupted");
    return {
      unary: (call, endpoint, request, options) => {
        const name = etcdEffect(`${call.parent.name}.${call.name}`);
        const work = () => transport.unary(call, endpoint, request, options);
        if (name === undefined || !this.alive) {
          this.#lookedAt ??= this.#now();
          return this.#guard(work);
        }
        if (name === "Cluster.MemberRemove") this.#options.watch.onRemove(idOf(request));
        if (name === "Cluster.MemberPromote") this.#options.watch.onPromote(idOf(request));
        return this.#effect(name, work, lost, options.signal);
      },
      stream: (call, endpoint, options) => transport.stream(call, endpoint, options),
      close: () => this.#guard(() => transport.close()),
    };
  }

  probe(probe: EtcdProbe): EtcdProbe {
    return {
      versions: (endpoint, signal) => this.#guard(() => probe.versions(endpoint, signal)),
      alive: (url, signal) => this.#guard(() => probe.alive(url, signal)),
      activePeers: (url, signal) => this.#guard(() => probe.activePeers(url, signal)),
    };
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

function idOf(request: unknown): string {
  return (request as { id: bigint }).id.toString(16);
}
