/**
 * One API server process as its clients meet it: requests take time, watches lag, and it can be frozen, cut off,
 * restarted, or behind. What is asked of it goes to `ModelServer`, which several of these may share.
 */
import { DeadlineExceeded } from "../../../src/seams/clock.ts";
import {
  KubeFailure,
  type KubeCallOptions,
  type KubeRequest,
  type KubeResponse,
  type KubeStreamResponse,
  type KubeTransport,
} from "../../../src/seams/kube-transport.ts";
import type { SeededRandom } from "../../engine/random.ts";
import type { Scheduler } from "../../engine/scheduler.ts";
import { Faults, happensAnyway, type Fault } from "./faults.ts";
import { Refusal } from "./refusal.ts";
import { routeOf } from "./route.ts";
import type { ModelServer } from "./server.ts";
import { Subscription, type Lag } from "./subscription.ts";
import { tooNew, wantedVersion } from "./list.ts";

export interface FrontOptions {
  readonly server: ModelServer;
  readonly scheduler: Scheduler;
  readonly random: SeededRandom;
  /** Milliseconds there and back, the least and the most. */
  readonly latencyMs?: Lag;
  /** How far a watch of one kind may be behind. */
  readonly watchLagMs?: Lag;
  /** How long the past is kept. */
  readonly historyMs?: number;
}

const HISTORY_MS = 300_000;
/** A server that is asked for a version it has not seen waits this long for it. */
const PATIENCE_MS = 3_000;

export class KubeFront {
  readonly faults = new Faults();
  readonly #options: FrontOptions;
  readonly #subscriptions = new Set<Subscription>();
  readonly #thawing = new Set<() => void>();
  #frozen = false;
  #down = false;
  /** Watches, and lists that ask for version 0, answer as of then. */
  #asOf: number | undefined;
  /** Its watch cache begins here. */
  #since = 0;
  /** Kinds, by their plural, that are seen as of a version of their own, and where their past begins. */
  readonly #held = new Map<string, number>();
  /** Those of them whose lists are not from the past. */
  readonly #readable = new Set<string>();
  readonly #sinceOf = new Map<string, number>();
  #requests = 0;

  constructor(options: FrontOptions) {
    this.#options = options;
    const { server, scheduler, historyMs = HISTORY_MS } = options;
    server.storage.onChange(() => this.#spread());
    const compact = () => {
      server.storage.compactOlderThan(historyMs);
      scheduler.after(historyMs / 5, compact);
    };
    scheduler.after(historyMs / 5, compact);
  }

  /** Requests so far, watches included. */
  get requests(): number {
    return this.#requests;
  }

  get watches(): number {
    return this.#subscriptions.size;
  }

  /** A client's way to this server; `who` is what faults can tell clients apart by. */
  connect(who: string): KubeTransport {
    return {
      request: (request, options) => this.#request(who, request, options),
      stream: (request, options) => this.#stream(who, request, options),
      close: () => {
        this.cut(who);
        return Promise.resolve();
      },
    };
  }

  /** Ends the watches of a client (or of all) as a lost connection does. */
  cut(who?: string): void {
    for (const one of this.#subscriptions) if (who === undefined || one.who === who) one.stream.end(lost());
  }

  stop(): void {
    this.#down = true;
    this.cut();
  }

  /** Its watch cache is new: what was before is Expired. */
  start(): void {
    this.#down = false;
    this.#since = this.#visible;
  }

  restart(): void {
    this.stop();
    this.start();
  }

  /** Accepts everything and answers nothing. */
  freeze(): void {
    this.#frozen = true;
  }

  thaw(): void {
    this.#frozen = false;
    for (const wake of this.#thawing) wake();
    this.#thawing.clear();
    this.#spread();
  }

  /** Watches, and lists that ask for version 0, show the world as it was at a version (the present one when none is given). */
  lag(version = this.#options.server.storage.version): void {
    this.#asOf = version;
  }

  catchUp(): void {
    this.#asOf = undefined;
    this.#spread();
  }

  /** Of one kind nothing new is reported or (unless only its watches lag) listed from now on; everything else goes on. */
  hold(plural: string, what: "all" | "watches" = "all"): void {
    if (this.#held.has(plural)) return;
    this.#held.set(plural, this.#visible);
    if (what === "watches") this.#readable.add(plural);
  }

  /** With `skip`, what happened meanwhile is never told: whoever follows has to read everything anew. */
  release(plural: string, skip = false): void {
    this.#readable.delete(plural);
    if (!this.#held.delete(plural)) return;
    if (skip) {
      this.#sinceOf.set(plural, this.#visible);
      const lost = new KubeFailure("interrupted", "connection", "connection lost");
      for (const one of this.#subscriptions) if (one.plural === plural) one.stream.end(lost);
    }
    this.#spread();
  }

  get #visible(): number {
    return this.#asOf ?? this.#options.server.storage.version;
  }

  #visibleOf(plural: string): number {
    return Math.min(this.#visible, this.#held.get(plural) ?? Number.POSITIVE_INFINITY);
  }

  #spread(): void {
    if (this.#frozen) return;
    for (const one of this.#subscriptions) one.pull(this.#visibleOf(one.plural));
  }

  #latency(): number {
    const [least, most] = this.#options.latencyMs ?? [1, 5];
    return this.#options.random.between(least, most) / 2;
  }

  async #request(who: string, request: KubeRequest, { signal }: KubeCallOptions): Promise<KubeResponse> {
    this.#requests++;
    const fault = this.faults.next(who, request);
    return await this.#exchange(signal, fault, () => {
      const answer = this.#answer(request);
      const date = Math.floor(this.#options.server.now() / 1_000) * 1_000;
      return { ...(fault?.kind === "answer" ? fault.response : answer), date };
    });
  }

  #answer(request: KubeRequest): KubeResponse {
    return this.#options.server.handle(
      request,
      request.method === "GET" ? this.#listsAsOf(request) : undefined,
    );
  }

  #listsAsOf({ path }: KubeRequest): number | undefined {
    if (this.#held.size === 0) return this.#asOf;
    const plural = path.split("/").find((part) => this.#held.has(part) && !this.#readable.has(part));
    return plural === undefined ? this.#asOf : this.#visibleOf(plural);
  }

  /** There, the work, and back; each part may be where it ends. */
  async #exchange<T>(signal: AbortSignal, fault: Fault | undefined, work: () => T): Promise<T> {
    const { scheduler } = this.#options;
    if (signal.aborted) throw given(signal, "not-sent");
    if (fault?.kind === "unreachable") throw new KubeFailure("not-sent", "connection", "connection refused");
    return await new Promise<T>((resolve, reject) => {
      const onAbort = () => reject(given(signal, "interrupted"));
      signal.addEventListener("abort", onAbort, { once: true });
      const settle = (end: () => void) => {
        signal.removeEventListener("abort", onAbort);
        end();
      };
      const back = (end: () => void) => void scheduler.after(this.#latency(), () => settle(end));
      const arrive = () => {
        if (this.#down)
          return back(() => reject(new KubeFailure("not-sent", "connection", "connection refused")));
        if (this.#frozen) return void this.#thawing.add(arrive);
        // What does not happen at all: the request was lost, or turned away at the door.
        if (fault !== undefined && !happensAnyway(fault)) {
          if (fault.kind === "cut") back(() => reject(lost()));
          else if (fault.kind === "answer") back(() => resolve(fault.response as T));
          return;
        }
        try {
          const answer = work();
          if (fault?.kind === "cut") back(() => reject(lost()));
          else if (fault?.kind !== "silent") back(() => resolve(answer));
        } catch (error) {
          settle(() => reject(error as Error));
        }
      };
      scheduler.after(this.#latency() + (fault?.kind === "delay" ? fault.ms : 0), arrive);
    });
  }

  async #stream(who: string, request: KubeRequest, { signal }: KubeCallOptions): Promise<KubeStreamResponse> {
    this.#requests++;
    const fault = this.faults.next(who, request);
    const { storage } = this.#options.server;
    const { version } = wantedVersion(request.query ?? {});
    if (Number(version) > storage.version && fault === undefined) {
      const delay: Fault = { kind: "delay", ms: PATIENCE_MS };
      return await this.#exchange(signal, delay, () => {
        if (Number(version) <= storage.version) return this.#subscribe(who, request, signal);
        return { ok: false, response: tooNew(version, storage.version).response };
      });
    }
    return await this.#exchange<KubeStreamResponse>(signal, fault, () => {
      if (fault?.kind === "answer") return { ok: false, response: fault.response };
      return this.#subscribe(who, request, signal);
    });
  }

  #subscribe(who: string, request: KubeRequest, signal: AbortSignal): KubeStreamResponse {
    const { server, scheduler, random, watchLagMs = [0, 20] } = this.#options;
    try {
      const { kind, namespace } = routeOf(request.path);
      const query = request.query ?? {};
      const one: Subscription = new Subscription({
        who,
        scheduler,
        random,
        lagMs: watchLagMs,
        onClose: () => {
          this.#subscriptions.delete(one);
          signal.removeEventListener("abort", onAbort);
        },
      });
      const onAbort = () => one.stream.end(given(signal, "interrupted"));
      one.begin({
        storage: server.storage,
        kind,
        namespace,
        query,
        visible: this.#visibleOf(kind.plural),
        since: Math.max(this.#since, this.#sinceOf.get(kind.plural) ?? 0, server.storage.compacted),
        whole: server.whole,
      });
      this.#subscriptions.add(one);
      if (signal.aborted) onAbort();
      else signal.addEventListener("abort", onAbort, { once: true });
      return { ok: true, objects: one.stream.read() };
    } catch (error) {
      if (error instanceof Refusal) return { ok: false, response: error.response };
      throw error;
    }
  }
}

const lost = () => new KubeFailure("interrupted", "connection", "connection lost");

function given(signal: AbortSignal, progress: "not-sent" | "interrupted"): KubeFailure {
  const late = signal.reason instanceof DeadlineExceeded;
  const message = late ? signal.reason.message : "cancelled by the client";
  return new KubeFailure(progress, late ? "timeout" : "cancelled", message, { cause: signal.reason });
}
