/** What the checker needs of a store, and real etcd as one. */
import { EtcdClient } from "../../src/etcd/client.ts";
import { text } from "../../src/etcd/convert.ts";
import { isEtcdError } from "../../src/etcd/errors.ts";
import { ops } from "../../src/etcd/kv.ts";
import { systemClock } from "../../src/seams/clock.ts";
import type { Endpoint, EtcdTransport } from "../../src/seams/etcd-transport.ts";

export interface StoredValue {
  readonly value: string;
  readonly revision: bigint;
}

export interface StoreEvent extends StoredValue {
  readonly key: string;
}

/** How a failed write ended: `refused` claims that it had no effect, which the checker holds it to. */
export type WriteFailure = "refused" | "unknown";

export class StoreError extends Error {
  override name = "StoreError";
  readonly failure: WriteFailure;
  constructor(failure: WriteFailure, message: string) {
    super(message);
    this.failure = failure;
  }
}

export interface CheckedStore {
  /** Writes both keys at once; resolves with the revision when acknowledged, rejects with `StoreError`. */
  write(worker: number, entries: readonly (readonly [key: string, value: string])[]): Promise<bigint>;
  /** The latest value, linearizably. */
  read(worker: number, key: string): Promise<StoredValue | undefined>;
  /** Every key under the prefix, linearizably. */
  list(prefix: string): Promise<ReadonlyMap<string, StoredValue>>;
  /** All that happens under the prefix from the call on, in order. The first item says that it has begun. */
  watch(prefix: string, signal: AbortSignal): AsyncIterable<"begun" | "interrupted" | readonly StoreEvent[]>;
}

export interface EtcdStoreOptions {
  readonly transport: EtcdTransport;
  readonly endpoints: readonly Endpoint[];
  /** Longest time of one write or read. */
  readonly timeoutMs?: number;
}

/** Each worker begins with another endpoint, so that one dead member does not stop them all. */
export class EtcdStore implements CheckedStore {
  readonly #options: EtcdStoreOptions;
  #endpoints: readonly Endpoint[];
  readonly #clients = new Map<number, EtcdClient>();

  constructor(options: EtcdStoreOptions) {
    this.#options = options;
    this.#endpoints = options.endpoints;
  }

  /** The cluster changed; as an application would learn it. */
  setEndpoints(endpoints: readonly Endpoint[]): void {
    this.#endpoints = endpoints;
    for (const [worker, client] of this.#clients) client.setEndpoints(rotate(endpoints, worker));
  }

  async write(worker: number, entries: readonly (readonly [string, string])[]): Promise<bigint> {
    try {
      const success = entries.map(([key, value]) => ops.put(key, value));
      return (await this.#client(worker).kv.txn({ success })).header.revision;
    } catch (error) {
      if (!isEtcdError(error)) throw error;
      throw new StoreError(error.outcome === "not-applied" ? "refused" : "unknown", error.message);
    }
  }

  async read(worker: number, key: string): Promise<StoredValue | undefined> {
    const found = await this.#client(worker).kv.get(key);
    return found === undefined ? undefined : { value: text(found.value), revision: found.modRevision };
  }

  async list(prefix: string): Promise<ReadonlyMap<string, StoredValue>> {
    const found = new Map<string, StoredValue>();
    const client = this.#client(0);
    let from: string | undefined;
    for (;;) {
      const page = await client.kv.range(from ?? prefix, {
        rangeEnd: `${prefix}\u{10ffff}`,
        limit: 1_000,
        timeoutMs: 10_000,
      });
      for (const { key, value, modRevision } of page.kvs)
        found.set(text(key), { value: text(value), revision: modRevision });
      const last = page.kvs.at(-1);
      if (!page.more || last === undefined) return found;
      from = `${text(last.key)}\0`;
    }
  }

  async *watch(
    prefix: string,
    signal: AbortSignal,
  ): AsyncGenerator<"begun" | "interrupted" | readonly StoreEvent[]> {
    let interrupted = false;
    const onInterrupted = () => (interrupted = true);
    const { watches } = this.#client(-1);
    for await (const batch of watches.watch(prefix, { prefix: true, signal, onInterrupted })) {
      if (interrupted) yield "interrupted";
      interrupted = false;
      if (batch.type === "created") yield "begun";
      if (batch.type === "events")
        yield batch.events.map(({ kv }) => ({
          key: text(kv.key),
          value: text(kv.value),
          revision: kv.modRevision,
        }));
    }
  }

  #client(worker: number): EtcdClient {
    let client = this.#clients.get(worker);
    if (client === undefined) {
      const { transport, timeoutMs = 1_000 } = this.#options;
      client = new EtcdClient({
        transport,
        clock: systemClock,
        endpoints: rotate(this.#endpoints, worker),
        timeoutMs,
      });
      this.#clients.set(worker, client);
    }
    return client;
  }
}

function rotate(endpoints: readonly Endpoint[], by: number): readonly Endpoint[] {
  const at = Math.max(0, by) % Math.max(1, endpoints.length);
  return [...endpoints.slice(at), ...endpoints.slice(0, at)];
}
