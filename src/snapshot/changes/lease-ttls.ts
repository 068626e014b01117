/**
 * The TTLs of leases that keys hang on, read when they are first seen: a watch tells a lease's ID and nothing else. An ID
 * may be granted again with another TTL, so each segment asks again; what was known before helps where the lease is
 * gone by then.
 */
import type { EtcdClient } from "../../etcd/client.ts";
import type { LeaseRecord, RevisionRecord } from "./record.ts";

/** Questions under way at a time. */
const PARALLEL = 32;
/** Kept beyond the present segment. */
const MOST_KNOWN = 100_000;

export class LeaseTtls {
  readonly #client: EtcdClient;
  readonly #known = new Map<bigint, number>();
  #fresh = new Set<bigint>();

  constructor(client: EtcdClient) {
    this.#client = client;
  }

  /** A new segment begins. */
  forget(): void {
    this.#fresh = new Set();
    for (const id of this.#known.keys()) {
      if (this.#known.size <= MOST_KNOWN) break;
      this.#known.delete(id);
    }
  }

  /** Asks for those that are new in these events. */
  async learn(ids: Iterable<bigint>, signal: AbortSignal): Promise<void> {
    const waiting = [...new Set(ids)].filter((id) => id !== 0n && !this.#fresh.has(id));
    const work = async () => {
      for (let id = waiting.shift(); id !== undefined; id = waiting.shift()) {
        const { grantedTtl } = await this.#client.lease.timeToLive(id, { signal });
        if (grantedTtl > 0 || !this.#known.has(id)) this.#known.set(id, grantedTtl);
        this.#fresh.add(id);
      }
    };
    await Promise.all(Array.from({ length: Math.min(PARALLEL, waiting.length) }, work));
  }

  of({ changes }: RevisionRecord): LeaseRecord[] {
    const ids = new Set(changes.flatMap((change) => (change.type === "put" ? [change.lease] : [])));
    ids.delete(0n);
    return [...ids].map((id) => ({ kind: "lease", id, ttl: this.#known.get(id) ?? 0 }));
  }
}
