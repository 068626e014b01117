/**
 * A client that writes at a steady rate and reads its certificates again as an application with a mounted Secret does.
 * It tells which writes failed and why, and for how long none succeeded.
 */
import { Buffer } from "node:buffer";
import { setTimeout as sleep } from "node:timers/promises";
import { EtcdClient } from "../../src/etcd/client.ts";
import { EtcdError } from "../../src/etcd/errors.ts";
import { GrpcTransport } from "../../src/etcd/grpc/transport.ts";
import type { TlsCredentials } from "../../src/etcd/types.ts";
import { systemClock } from "../../src/seams/clock.ts";
import type { Endpoint } from "../../src/seams/etcd-transport.ts";
import { WriteLog, type FailedWrites } from "./failed-writes.ts";

export interface WriterOptions {
  readonly endpoints: () => Promise<readonly Endpoint[]>;
  /** Undefined for a client that comes by plaintext. */
  readonly credentials?: () => Promise<TlsCredentials | undefined>;
  readonly perSecond?: number;
}

const RELOAD_MS = 300;
/**
 * etcd itself gives up after 7 s, and says whether a leader was lost meanwhile; before, a member that starts may have held
 * the connection for some time.
 */
const ANSWERED_MS = 30_000;
/** More than this would only wait for each other. */
const MOST_AT_ONCE = 64;

/** Each key is written again and again: how often that was acknowledged, and at which revision at the latest. */
interface Written {
  readonly times: number;
  readonly revision: bigint;
}

let writers = 0;

export class Writer {
  readonly #log = new WriteLog();
  readonly #prefix = `writer-${++writers}/`;
  readonly #written = new Map<string, Written>();
  acknowledged = 0;
  longestGapMs = 0;
  /** For how long it did not run itself: on a busy machine a part of the gap, as it is for members. */
  longestStallMs = 0;
  readonly #transport = new GrpcTransport({ clock: systemClock });
  readonly #client: EtcdClient;
  readonly #options: WriterOptions;
  readonly #running: Promise<void>;
  #stopped = false;
  readonly #begunAt = performance.now();
  #endedAt = 0;
  #lastAt = performance.now();
  #atOnce = 0;

  private constructor(
    options: WriterOptions,
    endpoints: readonly Endpoint[],
    credentials: TlsCredentials | undefined,
  ) {
    this.#options = options;
    if (credentials) this.#transport.setCredentials(credentials);
    this.#client = new EtcdClient({
      transport: this.#transport,
      clock: systemClock,
      endpoints,
      timeoutMs: ANSWERED_MS,
    });
    this.#running = Promise.all([this.#write(), this.#reload()]).then(() => undefined);
  }

  static async start(options: WriterOptions): Promise<Writer> {
    return new Writer(options, await options.endpoints(), await options.credentials?.());
  }

  async #write(): Promise<void> {
    const everyMs = 1000 / (this.#options.perSecond ?? 200);
    const begun = performance.now();
    this.#lastAt = begun;
    for (let count = 0; !this.#stopped; count++) {
      if (this.#atOnce < MOST_AT_ONCE) void this.#put(`${this.#prefix}${count % 100}`, `${count}`);
      const due = Math.max(performance.now(), begun + (count + 1) * everyMs);
      await sleep(Math.max(0, due - performance.now()));
      this.longestStallMs = Math.max(this.longestStallMs, performance.now() - due);
    }
  }

  async #put(key: string, value: string): Promise<void> {
    this.#atOnce++;
    const began = performance.now();
    try {
      const { header } = await this.#client.kv.put(key, value);
      this.acknowledged++;
      const { times, revision } = this.#written.get(key) ?? { times: 0, revision: 0n };
      const latest = header.revision > revision ? header.revision : revision;
      this.#written.set(key, { times: times + 1, revision: latest });
      const now = performance.now();
      this.#log.answered(header.raftTerm, now);
      this.longestGapMs = Math.max(this.longestGapMs, now - this.#lastAt);
      this.#lastAt = now;
    } catch (error) {
      if (!(error instanceof EtcdError)) throw error;
      if (!this.#stopped) this.#log.failed(error, began, performance.now());
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

  /** Acknowledged from its beginning to its end; it is asked for 200 unless said otherwise. */
  get perSecond(): number {
    return (1000 * this.acknowledged) / ((this.#stopped ? this.#endedAt : performance.now()) - this.#begunAt);
  }

  /** Why those failed that did. */
  get failed(): FailedWrites {
    return this.#log.sorted;
  }

  get failures(): readonly EtcdError[] {
    return this.#log.errors;
  }

  /** Acknowledged writes that this client does not find: each one makes a key older by a version. */
  async missing({ kv }: Pick<EtcdClient, "kv">): Promise<string[]> {
    const { kvs } = await kv.range(this.#prefix, { prefix: true, keysOnly: true });
    const found = new Map(kvs.map(({ key, ...rest }) => [Buffer.from(key).toString(), rest]));
    return [...this.#written].flatMap(([key, { times, revision }]) => {
      const { version = 0n, modRevision = 0n } = found.get(key) ?? {};
      if (version >= times && modRevision >= revision) return [];
      return [
        `${key}: ${times} writes up to revision ${revision}, and there are ${version} up to ${modRevision}`,
      ];
    });
  }

  async stop(): Promise<this> {
    if (!this.#stopped) this.#endedAt = performance.now();
    this.#stopped = true;
    await this.#running;
    await this.#transport.close();
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}
