/** The KV service as one member of the model answers it: etcd's messages to `Keys` and back. */
import { text } from "../../../src/etcd/convert.ts";
import type {
  Compare,
  CompactionRequest,
  DeleteRangeRequest,
  PutRequest,
  RangeRequest,
  RequestOp,
  TxnRequest,
} from "../../../src/etcd/proto/rpc_pb.ts";
import type { KeyOp } from "./entry.ts";
import type { Keys } from "./kv.ts";
import { Refusal, votersOnly } from "./refusal.ts";
import type { Server } from "./server.ts";
import { keysBetween, type Value } from "./state.ts";

type Answer = Record<string, unknown>;

/** What a key weighs in the database beside its own bytes. */
const ENTRY_BYTES = 64;

const encoder = new TextEncoder();

const found = ([key, value]: readonly [string, Value], keysOnly = false): Answer => ({
  key: encoder.encode(key),
  value: keysOnly ? new Uint8Array() : (value.value ?? new Uint8Array()),
  createRevision: BigInt(value.createRevision),
  modRevision: BigInt(value.modRevision),
  version: BigInt(value.version),
});

const end = (rangeEnd: Uint8Array) => (rangeEnd.length === 0 ? undefined : text(rangeEnd));

function between({ dir: { state } }: Server, from: string, to: string | undefined): [string, Value][] {
  return keysBetween(state.keys, from, to).flatMap((key) => {
    const value = state.keys.get(key);
    return value ? [[key, value] as [string, Value]] : [];
  });
}

/** The handlers by the names of their calls. */
export function kvAnswers(keys: Keys, header: (server: Server) => Answer) {
  return {
    "KV.Put": (server: Server, request: PutRequest): Answer => {
      votersOnly(server);
      const key = text(request.key);
      if (key === "") throw new Refusal("emptyKey");
      const before = server.dir.state.keys.get(key);
      keys.put(server, key, ENTRY_BYTES + request.key.length + request.value.length, request.value);
      return {
        header: header(server),
        ...(request.prevKv && before && { prevKv: found([key, before]) }),
      };
    },
    "KV.DeleteRange": (server: Server, request: DeleteRangeRequest): Answer => {
      votersOnly(server);
      const [from, to] = [text(request.key), end(request.rangeEnd)];
      if (from === "") throw new Refusal("emptyKey");
      const gone = between(server, from, to);
      const deleted = BigInt(keys.delete(server, from, to));
      return {
        header: header(server),
        deleted,
        ...(request.prevKv && { prevKvs: gone.map((pair) => found(pair)) }),
      };
    },
    "KV.Compact": (server: Server, request: CompactionRequest): Answer => {
      keys.compact(server, Number(request.revision));
      return { header: header(server) };
    },
    "KV.Range": (server: Server, request: RangeRequest): Answer => range(keys, header, server, request),
    "KV.Txn": (server: Server, request: TxnRequest): Answer => txn(keys, header, server, request),
  };
}

function range(
  keys: Keys,
  header: (server: Server) => Answer,
  server: Server,
  request: RangeRequest,
): Answer {
  if (!request.serializable) votersOnly(server);
  if (request.key.length === 0) throw new Refusal("emptyKey");
  const all = keys.range(server, text(request.key), end(request.rangeEnd), request.serializable);
  const { revision, compactRevision } = server.dir.state;
  const asked = Number(request.revision);
  if (asked > revision) throw new Refusal("futureRevision");
  if (asked > 0 && asked < compactRevision) throw new Refusal("compacted");
  const limit = Number(request.limit);
  const some = limit > 0 ? all.slice(0, limit) : all;
  return {
    header: header(server),
    count: BigInt(all.length),
    more: !request.countOnly && some.length < all.length,
    kvs: request.countOnly ? [] : some.map((pair) => found(pair, request.keysOnly)),
  };
}

function txn(keys: Keys, header: (server: Server) => Answer, server: Server, request: TxnRequest): Answer {
  const { state } = server.dir;
  const succeeded = request.compare.every((compare) => holds(state.keys.get(text(compare.key)), compare));
  const chosen = succeeded ? request.success : request.failure;
  const changed = chosen.map(change);
  const gone = changed.map((op) => (op.kind === "delete" ? between(server, op.from, op.to).length : 0));
  const mayPut = [...request.success, ...request.failure].some((op) => op.request.case === "requestPut");
  keys.txn(server, changed, mayPut);
  return {
    header: header(server),
    succeeded,
    responses: changed.map((op, i) => ({
      response:
        op.kind === "put"
          ? { case: "responsePut", value: {} }
          : { case: "responseDeleteRange", value: { deleted: BigInt(gone[i] ?? 0) } },
    })),
  };
}

/** Equality of versions and revisions, which is what is asked for. */
function holds(value: Value | undefined, { targetUnion }: Compare): boolean {
  switch (targetUnion.case) {
    case "version":
      return BigInt(value?.version ?? 0) === targetUnion.value;
    case "modRevision":
      return BigInt(value?.modRevision ?? 0) === targetUnion.value;
    case "createRevision":
      return BigInt(value?.createRevision ?? 0) === targetUnion.value;
    default:
      throw new Error(`the model does not compare ${String(targetUnion.case)}`);
  }
}

function change({ request }: RequestOp): KeyOp {
  if (request.case === "requestPut") {
    const { key, value } = request.value;
    return { kind: "put", key: text(key), size: ENTRY_BYTES + key.length + value.length, value };
  }
  if (request.case === "requestDeleteRange") {
    const to = end(request.value.rangeEnd);
    return { kind: "delete", from: text(request.value.key), ...(to === undefined ? {} : { to }) };
  }
  throw new Error(`the model has no ${String(request.case)} in transactions`);
}
