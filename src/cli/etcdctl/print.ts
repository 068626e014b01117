/** What the built-in client prints: etcdctl's simple form, tables, and JSON with keys and values in base64. */
import { formatId } from "../../etcd/id.ts";
import type { RangeAnswer, WriteAnswer } from "../../etcd/kv.ts";
import type { Alarm, Header, KeyValue, MemberList, MemberStatus } from "../../etcd/types.ts";
import { tableLines } from "../screen/table.ts";
import type { EtcdctlCall } from "./arguments.ts";

export interface EndpointStatus {
  readonly endpoint: string;
  readonly status?: MemberStatus;
  readonly error?: string;
}

export interface EndpointHealth {
  readonly endpoint: string;
  readonly healthy: boolean;
  readonly tookMs: number;
  readonly error?: string;
}

export type Answer =
  | ({ readonly kind: "range" } & RangeAnswer)
  | ({ readonly kind: "put" } & WriteAnswer)
  | { readonly kind: "del"; readonly header: Header; readonly deleted: number }
  | ({ readonly kind: "members" } & MemberList)
  | { readonly kind: "alarms"; readonly alarms: readonly Alarm[] }
  | { readonly kind: "status"; readonly endpoints: readonly EndpointStatus[] }
  | { readonly kind: "health"; readonly endpoints: readonly EndpointHealth[] };

export function printed(answer: Answer, call: Pick<EtcdctlCall, "format" | "values">): string {
  if (call.format === "json") return `${jsonOf(dataOf(answer))}\n`;
  const lines = linesOf(answer, call);
  return lines.length === 0 ? "" : `${lines.join("\n")}\n`;
}

function linesOf(
  answer: Answer,
  { format, values }: Pick<EtcdctlCall, "format" | "values">,
): readonly string[] {
  switch (answer.kind) {
    case "range":
      if (values["count-only"] === true) return [String(answer.count)];
      return answer.kvs.flatMap((kv) => [
        ...(values["print-value-only"] === true ? [] : [text(kv.key)]),
        ...(values["keys-only"] === true ? [] : [text(kv.value)]),
      ]);
    case "put":
      return ["OK", ...(answer.previous ? [text(answer.previous.key), text(answer.previous.value)] : [])];
    case "del":
      return [String(answer.deleted)];
    case "alarms":
      return answer.alarms.map(({ memberId, alarm }) => `memberID:${memberId} alarm:${alarm}`);
    case "members":
    case "status":
    case "health": {
      const [heading = [], ...rows] = rowsOf(answer);
      if (format === "simple") return rows.map((row) => row.join(", "));
      return tableLines(
        heading.map((title) => ({ title })),
        rows,
      );
    }
  }
}

function rowsOf(answer: Extract<Answer, { kind: "members" | "status" | "health" }>): string[][] {
  switch (answer.kind) {
    case "members":
      return [
        ["ID", "STATUS", "NAME", "PEER ADDRS", "CLIENT ADDRS", "IS LEARNER"],
        ...answer.members.map(({ id, name, peerUrls, clientUrls, isLearner }) => [
          formatId(id),
          name === "" ? "unstarted" : "started",
          name,
          peerUrls.join(","),
          clientUrls.join(","),
          String(isLearner),
        ]),
      ];
    case "status":
      return [
        [
          "ENDPOINT",
          "ID",
          "VERSION",
          "DB SIZE",
          "IS LEADER",
          "IS LEARNER",
          "RAFT TERM",
          "RAFT INDEX",
          "ERRORS",
        ],
        ...answer.endpoints.map(({ endpoint, status, error }) =>
          status === undefined
            ? [endpoint, "-", "-", "-", "-", "-", "-", "-", error ?? ""]
            : [
                endpoint,
                formatId(status.header.memberId),
                status.version,
                `${(status.dbSize / 1e6).toFixed(1)} MB`,
                String(status.isLeader),
                String(status.isLearner),
                String(status.raftTerm),
                String(status.raftIndex),
                status.errors.join("; "),
              ],
        ),
      ];
    case "health":
      return [
        ["ENDPOINT", "HEALTH", "TOOK", "ERROR"],
        ...answer.endpoints.map(({ endpoint, healthy, tookMs, error = "" }) => [
          endpoint,
          String(healthy),
          `${tookMs.toFixed(1)}ms`,
          error,
        ]),
      ];
  }
}

/** Field names are those of etcd's own JSON. */
function dataOf(answer: Answer): unknown {
  switch (answer.kind) {
    case "range":
      return {
        header: header(answer.header),
        kvs: answer.kvs.map(keyValue),
        more: answer.more,
        count: answer.count,
      };
    case "put":
      return {
        header: header(answer.header),
        ...(answer.previous && { prev_kv: keyValue(answer.previous) }),
      };
    case "del":
      return { header: header(answer.header), deleted: answer.deleted };
    case "members":
      return {
        header: header(answer.header),
        members: answer.members.map(({ id, name, peerUrls, clientUrls, isLearner }) => ({
          ID: id,
          name,
          peerURLs: peerUrls,
          clientURLs: clientUrls,
          ...(isLearner && { isLearner }),
        })),
      };
    case "alarms":
      return { alarms: answer.alarms.map(({ memberId, alarm }) => ({ memberID: memberId, alarm })) };
    case "status":
      return answer.endpoints.map(({ endpoint, status, error }) => ({
        Endpoint: endpoint,
        ...(status && {
          Status: {
            header: header(status.header),
            version: status.version,
            dbSize: status.dbSize,
            dbSizeInUse: status.dbSizeInUse,
            leader: status.leader,
            raftIndex: status.raftIndex,
            raftTerm: status.raftTerm,
            raftAppliedIndex: status.raftAppliedIndex,
            ...(status.errors.length > 0 && { errors: status.errors }),
            ...(status.isLearner && { isLearner: true }),
          },
        }),
        ...(error !== undefined && { error }),
      }));
    case "health":
      return answer.endpoints.map(({ endpoint, healthy, tookMs, error }) => ({
        endpoint,
        health: healthy,
        took: `${tookMs.toFixed(3)}ms`,
        ...(error !== undefined && { error }),
      }));
  }
}

function header({ clusterId, memberId, revision, raftTerm }: Header) {
  return { cluster_id: clusterId, member_id: memberId, revision, raft_term: raftTerm };
}

function keyValue({ key, value, createRevision, modRevision, version, lease }: KeyValue) {
  return {
    key: base64(key),
    create_revision: createRevision,
    mod_revision: modRevision,
    version,
    ...(value.length > 0 && { value: base64(value) }),
    ...(lease !== 0n && { lease }),
  };
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64");
}

function text(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("utf8");
}

/** 64-bit numbers stay numbers, as in etcdctl's JSON: JavaScript alone would have to make texts of them. */
function jsonOf(data: unknown): string {
  const marked = JSON.stringify(data, (_, value: unknown) =>
    typeof value === "bigint" ? `\u0000${value}` : value,
  );
  return marked.replace(/"\\u0000(-?\d+)"/g, "$1");
}
