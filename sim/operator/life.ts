/** The thread of one operator's life: it can be cut at any numbered effect, which may also fail in other ways. */
import type { EtcdProbe } from "../../src/seams/etcd-probe.ts";
import {
  KubeFailure,
  type KubeCallOptions,
  type KubeRequest,
  type KubeResponse,
  type KubeTransport,
} from "../../src/seams/kube-transport.ts";
import { MODIFIED, refusal } from "../models/kube/refusal.ts";
import { NEVER, ProcessLife, type EtcdWatch } from "../driver/process-life.ts";
import { effectOf, type Effects } from "./effects.ts";

/** What the operator is about to do, for the oracles. */
export interface LifeWatch extends EtcdWatch {
  onRequest(request: KubeRequest): void;
  onEffect(name: string): void;
  /** Nobody is to hear of what it just did for a while. */
  onUnseen(name: string): void;
}

export interface LifeOptions {
  readonly effects: Effects;
  readonly watch: LifeWatch;
  readonly onDeath: (reason: string) => void;
}

export class Life extends ProcessLife {
  readonly #options: LifeOptions;
  /** When etcd was first read since the last effect: what is decided now was seen from then on. */
  #lookedAt: number | undefined;
  readonly #now: () => number;

  constructor(options: LifeOptions, now: () => number) {
    super(options.onDeath, options.watch);
    this.#options = options;
    this.#now = now;
  }

  get lookedAt(): number {
    return this.#lookedAt ?? this.#now();
  }

  protected override onRead(): void {
    this.#lookedAt ??= this.#now();
  }

  /** One write, and what goes wrong with it. */
  protected async effect<T>(
    name: string,
    work: () => Promise<T>,
    lost: (late: boolean) => Error,
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
    const result = await this.taken(work());
    this.#lookedAt = undefined;
    if (fault === "crash-after") this.cut(`after effect ${number}: ${name}`);
    if (!this.alive) return await NEVER;
    if (fault === "reply-lost" || fault === "unseen") throw lost(false);
    if (fault === "timeout") {
      await this.taken(aborted(signal));
      throw lost(true);
    }
    return result;
  }

  kube(transport: KubeTransport): KubeTransport {
    return {
      request: (request, options) => this.#request(transport, request, options),
      stream: (request, options) =>
        this.guard(async () => {
          const answer = await transport.stream(request, options);
          return answer.ok ? { ok: true, objects: this.#objects(answer.objects) } : answer;
        }),
      close: () => this.guard(() => transport.close()),
    };
  }

  async *#objects(objects: AsyncIterable<unknown>): AsyncIterable<unknown> {
    for await (const one of objects) {
      while (this.frozen) await this.frozen;
      if (!this.alive) await NEVER;
      yield one;
    }
  }

  #request(transport: KubeTransport, request: KubeRequest, options: KubeCallOptions): Promise<KubeResponse> {
    const work = () => transport.request(request, options);
    const name = effectOf(request);
    if (name === undefined || !this.alive) return this.guard(work);
    this.#options.watch.onRequest(request);
    const lost = (late: boolean) =>
      new KubeFailure("interrupted", late ? "timeout" : "connection", "connection lost");
    const conflict =
      request.method === "POST"
        ? undefined
        : () => refusal(409, "Conflict", `Operation cannot be fulfilled: ${MODIFIED}`);
    return this.effect(name, work, lost, options.signal, conflict);
  }

  /** What another process answers, for as long as this one lives. */
  answer<T>(value: T): Promise<T> {
    return this.guard(() => Promise.resolve(value));
  }

  probe(probe: EtcdProbe): EtcdProbe {
    return {
      versions: (endpoint, signal) => this.guard(() => probe.versions(endpoint, signal)),
      alive: (url, signal) => this.guard(() => probe.alive(url, signal)),
      ready: (url, signal) => this.guard(() => probe.ready(url, signal)),
      activePeers: (url, signal) => this.guard(() => probe.activePeers(url, signal)),
      certificate: (endpoint, signal) => this.guard(() => probe.certificate(endpoint, signal)),
      offer: (endpoint, offered, signal) => this.guard(() => probe.offer(endpoint, offered, signal)),
    };
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
