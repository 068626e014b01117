/**
 * One client of a recorded run: carries a request out over the product's etcd client and turns what came
 * back into the history's words. Each has connections of its own.
 */
import { EtcdClient } from "../../src/etcd/client.ts";
import { text } from "../../src/etcd/convert.ts";
import { isEtcdError } from "../../src/etcd/errors.ts";
import { GrpcTransport } from "../../src/etcd/grpc/transport.ts";
import type { TlsCredentials } from "../../src/etcd/types.ts";
import { ops, toRange, type RangeAnswer } from "../../src/etcd/kv.ts";
import type { KeyValue } from "../../src/etcd/types.ts";
import { systemClock } from "../../src/seams/clock.ts";
import type { Endpoint } from "../../src/seams/etcd-transport.ts";
import type { WriteLog } from "../support/failed-writes.ts";
import { isWrite, type Answer, type Outcome, type Request, type Seen, type Version } from "./history.ts";

export interface SessionOptions {
  readonly name: string;
  readonly prefix: string;
  readonly keys: readonly string[];
  readonly endpoints: readonly Endpoint[];
  readonly timeoutMs: number;
  /** Why writes failed; the history has what they may have done. */
  readonly log: WriteLog;
}

export class Session {
  readonly name: string;
  readonly transport = new GrpcTransport({ clock: systemClock });
  readonly client: EtcdClient;
  readonly #options: SessionOptions;

  constructor(options: SessionOptions) {
    this.name = options.name;
    this.#options = options;
    const { endpoints, timeoutMs } = options;
    this.client = new EtcdClient({ transport: this.transport, clock: systemClock, endpoints, timeoutMs });
  }

  setCredentials(credentials: TlsCredentials): void {
    this.transport.setCredentials(credentials);
  }

  /** Never rejects for what etcd or the network did. */
  async perform(request: Request): Promise<Outcome> {
    const began = performance.now();
    try {
      return { kind: "answered", answer: await this.#answer(request) };
    } catch (error) {
      if (!isEtcdError(error)) throw error;
      if (isWrite(request)) this.#options.log.failed(error, began, performance.now());
      const kind = error.outcome === "not-applied" ? "refused" : "unknown";
      return { kind, why: `${error.kind}: ${error.said}` };
    }
  }

  async #answer(request: Request): Promise<Answer> {
    const { kv } = this.client;
    switch (request.kind) {
      case "put": {
        const { header } = await kv.put(this.#path(request.key), request.value);
        this.#options.log.answered(header.raftTerm, performance.now());
        return { revision: Number(header.revision) };
      }
      case "delete": {
        const { header, deleted } = await kv.delete(this.#path(request.key));
        return { revision: Number(header.revision), deleted: deleted > 0 };
      }
      case "txn": {
        const guard = this.#path(request.key);
        const { header, succeeded, responses } = await kv.txn({
          compare: [ops.modRevisionIs(guard, BigInt(request.mod))],
          success: request.writes.map(({ key, value }) => ops.put(this.#path(key), value)),
          failure: [ops.range(guard)],
        });
        const revision = Number(header.revision);
        if (succeeded) return { revision, succeeded };
        const read = responses[0]?.response;
        if (read?.case !== "responseRange") throw new TypeError("a failed transaction did not read");
        return { revision, succeeded, seen: this.#seen([request.key], toRange(read.value)) };
      }
      case "get":
        return this.#read([request.key], await kv.range(this.#path(request.key)));
      case "range":
        return this.#read(this.#options.keys, await kv.range(this.#options.prefix, { prefix: true }));
      case "stale-get":
        return await this.staleGet(request.key, request.member);
    }
  }

  /** What this member has, which may be old. */
  async staleGet(key: string, member: string): Promise<Answer> {
    const endpoint = this.client.endpoint(member);
    if (endpoint === undefined) throw new TypeError(`no member ${member}`);
    const found = await this.client.kv.range(this.#path(key), { serializable: true, endpoint });
    return this.#read([key], found);
  }

  #read(keys: readonly string[], found: RangeAnswer): Answer {
    return { revision: Number(found.header.revision), seen: this.#seen(keys, found) };
  }

  #seen(keys: readonly string[], { kvs }: RangeAnswer): Map<string, Seen> {
    const seen = new Map<string, Seen>(keys.map((key) => [key, undefined]));
    for (const kv of kvs) seen.set(text(kv.key).slice(this.#options.prefix.length), versionOf(kv));
    return seen;
  }

  #path(key: string): string {
    return `${this.#options.prefix}${key}`;
  }

  async close(): Promise<void> {
    await this.transport.close();
  }
}

export function versionOf({ value, modRevision, createRevision, version }: KeyValue): Version {
  return {
    value: text(value),
    mod: Number(modRevision),
    create: Number(createRevision),
    version: Number(version),
  };
}
