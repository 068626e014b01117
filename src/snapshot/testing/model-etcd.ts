/**
 * For tests: an etcd in memory with revisions, leases and compaction, as far as following and replaying need it. Its watch
 * cuts answers anywhere, also inside a revision, and breaks off when the test says so.
 */
import { create, type DescMessage, type MessageInitShape } from "@bufbuild/protobuf";
import { callName } from "../../etcd/caller.ts";
import { EtcdClient } from "../../etcd/client.ts";
import type { TxnRequest, WatchRequest } from "../../etcd/proto/rpc_pb.ts";
import { refused } from "../../etcd/testing.ts";
import { RpcFailure, type EtcdTransport } from "../../seams/etcd-transport.ts";
import type { Clock } from "../../seams/clock.ts";

export type ModelOp =
  | { readonly put: string; readonly value: string; readonly lease?: bigint }
  | { readonly delete: string };

interface ModelKey {
  readonly value: string;
  readonly create: number;
  readonly mod: number;
  readonly version: number;
  readonly lease: bigint;
}

interface ModelEvent {
  readonly revision: number;
  readonly key: string;
  /** Undefined for a deletion. */
  readonly now: ModelKey | undefined;
}

export type State = ReadonlyMap<string, ModelKey>;

export class ModelEtcd implements EtcdTransport {
  clusterId = 0xabcn;
  revision = 1;
  compacted = 0;
  authRevision = 1n;
  authEnabled = false;
  readonly leases = new Map<bigint, number>();
  readonly events: ModelEvent[] = [];
  /** The state at each revision. */
  readonly states = new Map<number, State>([[1, new Map()]]);
  /** How many events the next answer of a watch has, and whether it breaks off after it. */
  cut: () => { events: number; breaks: boolean } = () => ({ events: 100, breaks: false });
  /** Events that a broken etcd never sends. */
  swallow: (event: ModelEvent) => boolean = () => false;
  readonly #watching = new Set<() => void>();

  get state(): State {
    return this.states.get(this.revision) ?? new Map<string, ModelKey>();
  }

  client(clock: Clock): EtcdClient {
    return new EtcdClient({ transport: this, clock, endpoints: [{ name: "m", url: "http://m:2379" }] });
  }

  /** As etcd does it: only disabling raises the auth revision. */
  switchAuth(enabled: boolean): void {
    if (this.authEnabled && !enabled) this.authRevision++;
    this.authEnabled = enabled;
  }

  /** Restored as it was at a revision, with the same cluster ID and without raising the revision. */
  setBack(revision: number): void {
    this.revision = revision;
    for (const known of this.states.keys()) if (known > revision) this.states.delete(known);
    const later = this.events.findIndex((event) => event.revision > revision);
    if (later >= 0) this.events.splice(later);
  }

  /** One transaction; returns whether it changed anything. */
  write(ops: readonly ModelOp[]): number[] {
    const next = new Map(this.state);
    const revision = this.revision + 1;
    const changed: ModelEvent[] = [];
    const deleted = ops.map((op) => {
      if ("put" in op) {
        const before = next.get(op.put);
        const now: ModelKey = {
          value: op.value,
          create: before?.create ?? revision,
          mod: revision,
          version: (before?.version ?? 0) + 1,
          lease: op.lease ?? 0n,
        };
        next.set(op.put, now);
        changed.push({ revision, key: op.put, now });
        return 0;
      }
      if (!next.delete(op.delete)) return 0;
      changed.push({ revision, key: op.delete, now: undefined });
      return 1;
    });
    if (changed.length > 0) {
      this.revision = revision;
      this.states.set(revision, next);
      this.events.push(...changed);
      for (const wake of this.#watching) wake();
    }
    return deleted;
  }

  unary: EtcdTransport["unary"] = async (call, _endpoint, request, { signal }) => {
    await Promise.resolve();
    if (signal.aborted) throw new RpcFailure("CANCELLED", "ended by us", "interrupted");
    const answer = this.#answer(callName(call), request);
    return create<DescMessage>(call.output, answer as MessageInitShape<DescMessage>) as never;
  };

  #answer(name: string, request: unknown): object {
    const header = { clusterId: this.clusterId, memberId: 1n, revision: BigInt(this.revision), raftTerm: 2n };
    if (name === "Auth.AuthStatus")
      return { header, enabled: this.authEnabled, authRevision: this.authRevision };
    if (name === "Lease.LeaseTimeToLive") {
      const { id } = request as { id: bigint };
      const ttl = this.leases.get(id);
      return { header, id, ttl: BigInt(ttl ?? -1), grantedTtl: BigInt(ttl ?? 0) };
    }
    if (name === "KV.Range") {
      const { revision, key } = request as { revision: bigint; key: Uint8Array };
      if (revision !== 0n && Number(revision) < this.compacted)
        throw refused("OUT_OF_RANGE", "mvcc: required revision has been compacted");
      if (Number(revision) > this.revision)
        throw refused("OUT_OF_RANGE", "etcdserver: mvcc: required revision is a future revision");
      const name = Buffer.from(key).toString();
      const found = this.states.get(Number(revision) || this.revision)?.get(name);
      return found === undefined
        ? { header, count: 0n }
        : { header, count: 1n, kvs: [keyValue(name, found)] };
    }
    if (name === "KV.Txn") return this.#txn(request as TxnRequest, header);
    throw new RpcFailure("UNIMPLEMENTED", name, "answered");
  }

  #txn({ compare, success }: TxnRequest, header: object): object {
    const fits = compare.every(({ key, targetUnion }) => {
      const found = this.state.get(Buffer.from(key).toString());
      if (targetUnion.case === "version") return BigInt(found?.version ?? 0) === targetUnion.value;
      if (targetUnion.case === "createRevision") return BigInt(found?.create ?? 0) === targetUnion.value;
      throw new TypeError(`the model does not compare ${String(targetUnion.case)}`);
    });
    if (!fits) return { header, succeeded: false };
    const deleted = this.write(
      success.map(({ request }): ModelOp => {
        if (request.case === "requestDeleteRange")
          return { delete: Buffer.from(request.value.key).toString() };
        if (request.case !== "requestPut") throw new TypeError("the model does not know this operation");
        const { key, value, lease } = request.value;
        if (lease !== 0n && !this.leases.has(lease)) throw refused("NOT_FOUND", "requested lease not found");
        return { put: Buffer.from(key).toString(), value: Buffer.from(value).toString(), lease };
      }),
    );
    const responses = deleted.map((count, index) =>
      success[index]?.request.case === "requestDeleteRange"
        ? { response: { case: "responseDeleteRange", value: { deleted: BigInt(count) } } }
        : { response: { case: "responsePut", value: {} } },
    );
    return { header: { ...header, revision: BigInt(this.revision) }, succeeded: true, responses };
  }

  stream: EtcdTransport["stream"] = (call, _endpoint, { signal }) => {
    let next: number | undefined;
    let progress = 0;
    let wake: () => void = () => undefined;
    const send = (request: unknown) => {
      const { requestUnion } = request as WatchRequest;
      if (requestUnion.case === "createRequest") next = Number(requestUnion.value.startRevision);
      else if (requestUnion.case === "progressRequest") progress++;
      wake();
    };
    const answer = (fields: object) =>
      create<DescMessage>(call.output, {
        header: { clusterId: this.clusterId, revision: BigInt(this.revision) },
        ...fields,
      } as MessageInitShape<DescMessage>) as never;
    const deliver = async function* (this: ModelEtcd): AsyncGenerator<never> {
      const notify = () => wake();
      this.#watching.add(notify);
      signal.addEventListener("abort", notify);
      try {
        if (next === undefined) throw new TypeError("the watch was not created");
        const start = next;
        yield answer({ created: true });
        if (start < this.compacted) {
          yield answer({ canceled: true, compactRevision: BigInt(this.compacted) });
          return;
        }
        let at = this.events.findIndex(({ revision }) => revision >= start);
        if (at < 0) at = this.events.length;
        while (!signal.aborted) {
          const { events, breaks } = this.cut();
          const part = this.events.slice(at, at + events);
          at += part.length;
          if (part.length > 0)
            yield answer({ events: part.filter((one) => !this.swallow(one)).map(toEvent) });
          else if (progress > 0) {
            progress--;
            yield answer({});
          }
          if (breaks) throw new RpcFailure("UNAVAILABLE", "read ECONNRESET", "interrupted");
          if (at === this.events.length && progress === 0)
            await new Promise<void>((resolve) => (wake = resolve));
        }
        throw new RpcFailure("CANCELLED", "ended by us", "interrupted");
      } finally {
        this.#watching.delete(notify);
        signal.removeEventListener("abort", notify);
      }
    }.bind(this);
    return { send, end: () => undefined, cancel: () => undefined, [Symbol.asyncIterator]: deliver };
  };

  close(): Promise<void> {
    return Promise.resolve();
  }
}

function keyValue(key: string, { value, create, mod, version, lease }: ModelKey): object {
  return {
    key: Buffer.from(key),
    value: Buffer.from(value),
    createRevision: BigInt(create),
    modRevision: BigInt(mod),
    version: BigInt(version),
    lease,
  };
}

function toEvent({ revision, key, now }: ModelEvent): object {
  if (now === undefined) return { type: 1, kv: { key: Buffer.from(key), modRevision: BigInt(revision) } };
  return { type: 0, kv: keyValue(key, now) };
}

/** Numbers by a seed, so that a failing case can be run again. */
export function seeded(seed: number): (below: number) => number {
  let state = (seed + 1) * 2654435761;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** A random transaction over few keys, so that they meet. */
export function randomOps(model: ModelEtcd, pick: (below: number) => number): ModelOp[] {
  const keys = new Set(Array.from({ length: pick(4) === 0 ? 1 + pick(6) : 1 }, () => `k${pick(9)}`));
  return [...keys].map((key): ModelOp => {
    if (pick(3) === 0) return { delete: key };
    const lease = pick(3) === 0 ? BigInt(1 + pick(5)) : 0n;
    if (lease !== 0n) model.leases.set(lease, model.leases.get(lease) ?? 10 + pick(100));
    return { put: key, value: `v${pick(1000)}`.repeat(1 + pick(5)), lease };
  });
}
