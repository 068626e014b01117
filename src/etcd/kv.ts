/** Keys and values. Reads fail over between members; writes are never repeated by themselves. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Endpoint } from "../seams/etcd-transport.ts";
import type { Caller } from "./caller.ts";
import { bytes, toHeader, toKeyValue } from "./convert.ts";
import {
  Compare_CompareResult,
  Compare_CompareTarget,
  KV,
  type CompareSchema,
  type RangeRequestSchema,
  type RangeResponse,
  type RequestOpSchema,
  type ResponseOp,
} from "./proto/rpc_pb.ts";
import type { Bytes, CallOptions, Header, KeyValue } from "./types.ts";

const { method } = KV;

export interface RangeOptions extends CallOptions {
  /** End of the range, exclusive; see `prefixEnd`. */
  readonly rangeEnd?: Bytes;
  /** Every key that begins with the given one. */
  readonly prefix?: boolean;
  readonly limit?: number;
  readonly revision?: bigint;
  /** Answered by the asked member alone, without quorum, possibly stale. */
  readonly serializable?: boolean;
  readonly keysOnly?: boolean;
  readonly countOnly?: boolean;
  /** Ask this member only; learners answer serializable reads. */
  readonly endpoint?: Endpoint;
}

export interface RangeAnswer {
  readonly header: Header;
  readonly kvs: readonly KeyValue[];
  readonly more: boolean;
  readonly count: number;
}

export interface WriteAnswer {
  readonly header: Header;
  readonly previous?: KeyValue;
}

export interface TxnAnswer {
  readonly header: Header;
  readonly succeeded: boolean;
  readonly responses: readonly ResponseOp[];
}

export type Comparison = MessageInitShape<typeof CompareSchema>;
export type Operation = MessageInitShape<typeof RequestOpSchema>;

export interface Txn {
  readonly compare?: readonly Comparison[];
  readonly success?: readonly Operation[];
  readonly failure?: readonly Operation[];
}

/** The first key after all that begin with `prefix`. */
export function prefixEnd(prefix: Bytes): Uint8Array<ArrayBuffer> {
  const end = bytes(prefix);
  for (let at = end.length - 1; at >= 0; at--) {
    const byte = end[at] ?? 0;
    if (byte < 0xff) {
      end[at] = byte + 1;
      return end.subarray(0, at + 1);
    }
  }
  return new Uint8Array(1);
}

export class KvCalls {
  readonly #caller: Caller;
  constructor(caller: Caller) {
    this.#caller = caller;
  }

  async range(key: Bytes, options: RangeOptions = {}): Promise<RangeAnswer> {
    const request = rangeRequest(key, options);
    return toRange(
      options.endpoint === undefined
        ? await this.#caller.voter(method.range, request, { ...options, repeatable: true })
        : await this.#caller.at(options.endpoint, method.range, request, options),
    );
  }

  async get(
    key: Bytes,
    options: Omit<RangeOptions, "rangeEnd" | "prefix" | "limit"> = {},
  ): Promise<KeyValue | undefined> {
    return (await this.range(key, options)).kvs[0];
  }

  async put(
    key: Bytes,
    value: Bytes,
    options: CallOptions & { lease?: bigint; previous?: boolean; endpoint?: Endpoint } = {},
  ): Promise<WriteAnswer> {
    const request = {
      key: bytes(key),
      value: bytes(value),
      lease: options.lease ?? 0n,
      prevKv: options.previous ?? false,
    };
    const answer =
      options.endpoint === undefined
        ? await this.#caller.voter(method.put, request, { ...options, repeatable: false })
        : await this.#caller.at(options.endpoint, method.put, request, options);
    return {
      header: toHeader(answer.header),
      ...(answer.prevKv === undefined ? {} : { previous: toKeyValue(answer.prevKv) }),
    };
  }

  async delete(
    key: Bytes,
    options: CallOptions & { rangeEnd?: Bytes; prefix?: boolean } = {},
  ): Promise<{ header: Header; deleted: number }> {
    const request = { key: bytes(key), rangeEnd: endOf(key, options) };
    const answer = await this.#caller.voter(method.deleteRange, request, { ...options, repeatable: false });
    return { header: toHeader(answer.header), deleted: Number(answer.deleted) };
  }

  async txn(txn: Txn, options: CallOptions = {}): Promise<TxnAnswer> {
    const request = {
      compare: [...(txn.compare ?? [])],
      success: [...(txn.success ?? [])],
      failure: [...(txn.failure ?? [])],
    };
    const answer = await this.#caller.voter(method.txn, request, { ...options, repeatable: false });
    return { header: toHeader(answer.header), succeeded: answer.succeeded, responses: answer.responses };
  }

  /** Drops history before `revision`. `physical` waits until it is gone from the backend. */
  async compact(revision: bigint, options: CallOptions & { physical?: boolean } = {}): Promise<Header> {
    const request = { revision, physical: options.physical ?? false };
    return toHeader(
      (await this.#caller.voter(method.compact, request, { ...options, repeatable: false })).header,
    );
  }
}

/** Operations and comparisons of a transaction. */
export const ops = {
  put: (key: Bytes, value: Bytes, lease = 0n): Operation => ({
    request: { case: "requestPut", value: { key: bytes(key), value: bytes(value), lease } },
  }),
  delete: (key: Bytes, options: { rangeEnd?: Bytes; prefix?: boolean } = {}): Operation => ({
    request: { case: "requestDeleteRange", value: { key: bytes(key), rangeEnd: endOf(key, options) } },
  }),
  range: (key: Bytes, options: RangeOptions = {}): Operation => ({
    request: { case: "requestRange", value: rangeRequest(key, options) },
  }),
  modRevisionIs: (key: Bytes, revision: bigint): Comparison => ({
    key: bytes(key),
    result: Compare_CompareResult.EQUAL,
    target: Compare_CompareTarget.MOD,
    targetUnion: { case: "modRevision", value: revision },
  }),
  valueIs: (key: Bytes, value: Bytes): Comparison => ({
    key: bytes(key),
    result: Compare_CompareResult.EQUAL,
    target: Compare_CompareTarget.VALUE,
    targetUnion: { case: "value", value: bytes(value) },
  }),
  absent: (key: Bytes): Comparison => ops.modRevisionIs(key, 0n),
};

function endOf(key: Bytes, options: { rangeEnd?: Bytes; prefix?: boolean }): Uint8Array<ArrayBuffer> {
  if (options.prefix) return prefixEnd(key);
  return options.rangeEnd === undefined ? new Uint8Array(0) : bytes(options.rangeEnd);
}

function rangeRequest(key: Bytes, options: RangeOptions): MessageInitShape<typeof RangeRequestSchema> {
  return {
    // An empty key with `prefix` means every key, which etcd writes as "from \0 to \0".
    key: options.prefix && key.length === 0 ? new Uint8Array(1) : bytes(key),
    rangeEnd: endOf(key, options),
    limit: BigInt(options.limit ?? 0),
    revision: options.revision ?? 0n,
    serializable: options.serializable ?? false,
    keysOnly: options.keysOnly ?? false,
    countOnly: options.countOnly ?? false,
  };
}

export function toRange(answer: RangeResponse): RangeAnswer {
  return {
    header: toHeader(answer.header),
    kvs: answer.kvs.map(toKeyValue),
    more: answer.more,
    count: Number(answer.count),
  };
}
