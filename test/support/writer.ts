/**
 * A client that writes at a steady rate and reads its certificates again as an application with a mounted Secret does.
 * It tells which writes failed and why, and for how long none succeeded.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { EtcdClient } from "../../src/etcd/client.ts";
import { EtcdError } from "../../src/etcd/errors.ts";
import { GrpcTransport } from "../../src/etcd/grpc/transport.ts";
import type { TlsCredentials } from "../../src/etcd/types.ts";
import { systemClock } from "../../src/seams/clock.ts";
import type { Endpoint } from "../../src/seams/etcd-transport.ts";

export interface WriterOptions {
  readonly endpoints: () => Promise<readonly Endpoint[]>;
  /** Undefined for a client that comes by plaintext. */
  readonly credentials?: () => Promise<TlsCredentials | undefined>;
  readonly perSecond?: number;
}

const RELOAD_MS = 300;
/** etcd itself gives up after 7 s, and says whether a leader was lost meanwhile. */
const ANSWERED_MS = 10_000;
/** More than this would only wait for each other. */
const MOST_AT_ONCE = 64;

export class Writer {
  readonly failures: EtcdError[] = [];
  acknowledged = 0;
  longestGapMs = 0;
  readonly #transport = new GrpcTransport({ clock: systemClock });
  readonly #client: EtcdClient;
  readonly #options: WriterOptions;
  readonly #running: Promise<void>;
  #stopped = false;
  #lastAt = performance.now();
  #atOnce = 0;

  private constructor(options: WriterOptions, endpoints: readonly Endpoint[]) {
    this.#options = options;
    this.#client = new EtcdClient({
      transport: this.#transport,
      clock: systemClock,
      endpoints,
      timeoutMs: ANSWERED_MS,
    });
    this.#running = Promise.all([this.#write(), this.#reload()]).then(() => undefined);
  }

  static async start(options: WriterOptions): Promise<Writer> {
    const writer = new Writer(options, await options.endpoints());
    const credentials = await options.credentials?.();
    if (credentials) writer.#transport.setCredentials(credentials);
    return writer;
  }

  async #write(): Promise<void> {
    const everyMs = 1000 / (this.#options.perSecond ?? 200);
    const begun = performance.now();
    this.#lastAt = begun;
    for (let count = 0; !this.#stopped; count++) {
      if (this.#atOnce < MOST_AT_ONCE) void this.#put(`writer/${count % 100}`, `${count}`);
      await sleep(Math.max(0, begun + (count + 1) * everyMs - performance.now()));
    }
  }

  async #put(key: string, value: string): Promise<void> {
    this.#atOnce++;
    try {
      await this.#client.kv.put(key, value);
      this.acknowledged++;
      const now = performance.now();
      this.longestGapMs = Math.max(this.longestGapMs, now - this.#lastAt);
      this.#lastAt = now;
    } catch (error) {
      if (!(error instanceof EtcdError)) throw error;
      if (!this.#stopped) this.failures.push(error);
    } finally {
      this.#atOnce--;
    }
  }

  async #reload(): Promise<void> {
    let known = "";
    while (!this.#stopped) {
      this.#client.setEndpoints(await this.#options.endpoints());
      const credentials = await this.#options.credentials?.();
      const text = JSON.stringify(credentials);
      if (credentials && text !== known) this.#transport.setCredentials(credentials);
      known = text;
      await sleep(RELOAD_MS);
    }
  }

  /** Failures that no restart and no change of leader explains. */
  get unexplained(): EtcdError[] {
    return this.failures.filter(({ kind, said }) => !EXPLAINED.has(kind) && !LOST.has(said));
  }

  async stop(): Promise<this> {
    this.#stopped = true;
    await this.#running;
    await this.#transport.close();
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}

/** A member that ends takes the requests along that it has not answered; those that were not sent go to another one. */
const EXPLAINED: ReadonlySet<string> = new Set(["leader-changed", "no-leader", "server-stopped"]);
/** What a follower says of writes that were on their way to a leader that is none any more; etcd gives them no code. */
const LOST: ReadonlySet<string> = new Set([
  "raft proposal dropped",
  "request timed out, possibly due to previous leader failure",
  "request timed out, possibly due to connection lost",
]);
