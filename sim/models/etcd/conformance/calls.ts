/**
 * The calls that are compared, made through the product's own caller, and their answers in a form that two servers
 * can be held to: without terms, times and sizes, which are theirs to choose.
 */
import type { Caller } from "../../../../src/etcd/caller.ts";
import { bytes, text, toAlarms } from "../../../../src/etcd/convert.ts";
import { isEtcdError } from "../../../../src/etcd/errors.ts";
import { formatId } from "../../../../src/etcd/id.ts";
import { ops, type Comparison } from "../../../../src/etcd/kv.ts";
import {
  AlarmRequest_AlarmAction,
  AlarmType,
  Cluster,
  Compare_CompareResult,
  Compare_CompareTarget,
  DowngradeRequest_DowngradeAction,
  KV,
  Maintenance,
  type Member,
  type ResponseHeader,
} from "../../../../src/etcd/proto/rpc_pb.ts";
import type { KeyValue } from "../../../../src/etcd/proto/kv_pb.ts";
import type { AuthOp } from "../auth.ts";
import { askAuth } from "./auth-calls.ts";
import { watched } from "./watched.ts";
import type { Endpoint } from "../../../../src/seams/etcd-transport.ts";

export interface TxnOp {
  readonly kind: "put" | "delete";
  readonly key: string;
}

export type Call =
  | { readonly kind: "list"; readonly linearizable: boolean }
  | { readonly kind: "add"; readonly urls: readonly string[]; readonly learner: boolean }
  | { readonly kind: "remove" | "promote" | "moveLeader"; readonly id: string }
  | { readonly kind: "update"; readonly id: string; readonly urls: readonly string[] }
  | { readonly kind: "status" | "defragment" }
  | {
      readonly kind: "alarm";
      readonly action: "GET" | "ACTIVATE" | "DEACTIVATE";
      readonly id: string;
      readonly alarm: "NOSPACE" | "CORRUPT";
    }
  | {
      readonly kind: "downgrade";
      readonly action: "VALIDATE" | "ENABLE" | "CANCEL";
      readonly version: string;
    }
  | { readonly kind: "put"; readonly key: string; readonly value: string; readonly previous: boolean }
  | {
      readonly kind: "range";
      readonly key: string;
      readonly end: string;
      readonly revision: number;
      readonly limit: number;
      readonly serializable: boolean;
      readonly only: "all" | "keys" | "count";
    }
  | { readonly kind: "delete"; readonly key: string; readonly end: string }
  | {
      readonly kind: "txn";
      readonly key: string;
      readonly version: number;
      readonly then: readonly TxnOp[];
      readonly otherwise: readonly TxnOp[];
    }
  | { readonly kind: "compact"; readonly revision: number }
  | { readonly kind: "hash"; readonly revision: number }
  /** `waits`: for what comes after its creation, which is an event of the past or its end. */
  | { readonly kind: "watch"; readonly revision: number; readonly waits: boolean }
  | { readonly kind: "auth"; readonly op: AuthOp };

export type Outcome =
  | { readonly ok: true; readonly value: Readonly<Record<string, unknown>> }
  | { readonly ok: false; readonly code: string; readonly error: string; readonly said: string };

/** One member, asked. Failures are outcomes too. */
export async function perform(
  caller: Caller,
  endpoint: Endpoint,
  call: Call,
  timeoutMs: number,
): Promise<Outcome> {
  try {
    return { ok: true, value: await ask(caller, endpoint, call, timeoutMs) };
  } catch (error) {
    if (!isEtcdError(error)) throw error;
    return { ok: false, code: error.code, error: error.kind, said: error.said };
  }
}

type Value = Record<string, unknown>;

async function ask(caller: Caller, endpoint: Endpoint, call: Call, timeoutMs: number): Promise<Value> {
  const options = { timeoutMs };
  switch (call.kind) {
    case "list":
      return listed(await caller.at(endpoint, Cluster.method.memberList, call, options));
    case "add": {
      const request = { peerUrls: [...call.urls], isLearner: call.learner };
      const answer = await caller.at(endpoint, Cluster.method.memberAdd, request, options);
      return { ...listed(answer), member: answer.member && member(answer.member) };
    }
    case "remove":
      return listed(await caller.at(endpoint, Cluster.method.memberRemove, { id: big(call.id) }, options));
    case "promote":
      return listed(await caller.at(endpoint, Cluster.method.memberPromote, { id: big(call.id) }, options));
    case "update": {
      const request = { id: big(call.id), peerUrls: [...call.urls] };
      return listed(await caller.at(endpoint, Cluster.method.memberUpdate, request, options));
    }
    case "moveLeader": {
      const request = { targetId: big(call.id) };
      await caller.at(endpoint, Maintenance.method.moveLeader, request, options);
      return {};
    }
    case "status":
      return await status(caller, endpoint, timeoutMs);
    case "defragment":
      await caller.at(endpoint, Maintenance.method.defragment, {}, options);
      return {};
    case "alarm": {
      const request = {
        action: AlarmRequest_AlarmAction[call.action],
        memberId: big(call.id),
        alarm: call.action === "GET" ? AlarmType.NONE : AlarmType[call.alarm],
      };
      const { alarms } = await caller.at(endpoint, Maintenance.method.alarm, request, options);
      const names = toAlarms(alarms).map(({ memberId, alarm }) => `${formatId(memberId)} ${alarm}`);
      return { alarms: names.toSorted() };
    }
    case "downgrade": {
      const request = { action: DowngradeRequest_DowngradeAction[call.action], version: call.version };
      const answer = await caller.at(endpoint, Maintenance.method.downgrade, request, options);
      return { version: answer.version.split(".").slice(0, 2).join(".") };
    }
    case "hash": {
      const request = { revision: BigInt(call.revision) };
      const answer = await caller.at(endpoint, Maintenance.method.hashKV, request, options);
      const { hash, compactRevision, hashRevision } = answer;
      return { hash, compactRevision: String(compactRevision), hashRevision: String(hashRevision) };
    }
    case "watch":
      return await watched(caller, endpoint, call, timeoutMs);
    case "auth":
      return await askAuth(caller, endpoint, call.op, options);
    default:
      return await keys(caller, endpoint, call, timeoutMs);
  }
}

type KeyCall = Extract<Call, { kind: "put" | "range" | "delete" | "txn" | "compact" }>;

async function keys(caller: Caller, endpoint: Endpoint, call: KeyCall, timeoutMs: number): Promise<Value> {
  const options = { timeoutMs };
  switch (call.kind) {
    case "put": {
      const request = { key: bytes(call.key), value: bytes(call.value), prevKv: call.previous };
      const answer = await caller.at(endpoint, KV.method.put, request, options);
      return { ...at(answer.header), previous: answer.prevKv && pair(answer.prevKv) };
    }
    case "range": {
      const request = {
        key: bytes(call.key),
        rangeEnd: bytes(call.end),
        revision: BigInt(call.revision),
        limit: BigInt(call.limit),
        serializable: call.serializable,
        keysOnly: call.only === "keys",
        countOnly: call.only === "count",
      };
      const answer = await caller.at(endpoint, KV.method.range, request, options);
      const { count, more } = answer;
      return { ...at(answer.header), count: String(count), more, kvs: answer.kvs.map(pair) };
    }
    case "delete": {
      const request = { key: bytes(call.key), rangeEnd: bytes(call.end), prevKv: true };
      const answer = await caller.at(endpoint, KV.method.deleteRange, request, options);
      return {
        ...at(answer.header),
        deleted: String(answer.deleted),
        previous: answer.prevKvs.map(pair),
      };
    }
    case "txn": {
      const op = ({ kind, key }: TxnOp) => (kind === "put" ? ops.put(key, "by txn") : ops.delete(key));
      const compare: Comparison = {
        key: bytes(call.key),
        result: Compare_CompareResult.EQUAL,
        target: Compare_CompareTarget.VERSION,
        targetUnion: { case: "version", value: BigInt(call.version) },
      };
      const request = {
        compare: [compare],
        success: call.then.map(op),
        failure: call.otherwise.map(op),
      };
      const answer = await caller.at(endpoint, KV.method.txn, request, options);
      const kinds = answer.responses.map(({ response }) =>
        response.case === "responseDeleteRange" ? `deleted ${response.value.deleted}` : response.case,
      );
      return { ...at(answer.header), succeeded: answer.succeeded, responses: kinds };
    }
    case "compact": {
      const request = { revision: BigInt(call.revision), physical: true };
      return at((await caller.at(endpoint, KV.method.compact, request, options)).header);
    }
  }
}

async function status(caller: Caller, endpoint: Endpoint, timeoutMs: number): Promise<Value> {
  const answer = await caller.at(endpoint, Maintenance.method.status, {}, { timeoutMs });
  return {
    ...at(answer.header),
    version: answer.version,
    leader: formatId(answer.leader),
    term: String(answer.raftTerm),
    isLearner: answer.isLearner,
    storageVersion: answer.storageVersion,
    downgrade: answer.downgradeInfo && {
      enabled: answer.downgradeInfo.enabled,
      target: answer.downgradeInfo.targetVersion.split(".").slice(0, 2).join("."),
    },
    // The product asks for the alarms themselves whenever etcd speaks of any trouble.
    troubled: answer.errors.length > 0,
  };
}

const big = (id: string) => BigInt(`0x${id}`);

function who(header: ResponseHeader | undefined): Value {
  return { cluster: formatId(header?.clusterId ?? 0n), answeredBy: formatId(header?.memberId ?? 0n) };
}

function at(header: ResponseHeader | undefined): Value {
  return { ...who(header), revision: String(header?.revision ?? 0n) };
}

function member({ id, name, peerUrls, clientUrls, isLearner }: Member): string {
  return `${formatId(id)} ${name || "?"} ${peerUrls.join(",")} ${clientUrls.join(",") || "-"}${isLearner ? " learner" : ""}`;
}

function listed(answer: { header?: ResponseHeader; members: Member[] }): Value {
  return { ...who(answer.header), members: answer.members.map(member).toSorted() };
}

function pair({ key, value, createRevision, modRevision, version }: KeyValue): string {
  return `${text(key)}=${text(value)} ${createRevision} ${modRevision} ${version}`;
}
