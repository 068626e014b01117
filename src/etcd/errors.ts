/**
 * The one error type of the etcd client. `kind` is a closed union to switch on; the rest is what a
 * reader needs: which call, on what, what etcd said, whether it can have taken effect, what to do next.
 */
import { grpcCodes, type GrpcCode, type RpcFailure } from "../seams/etcd-transport.ts";
import { byCode, meanings, rows, type EtcdErrorKind } from "./error-table.ts";

export type { EtcdErrorKind } from "./error-table.ts";

/** Whether the change can have happened although the call failed. */
export type Outcome = "not-applied" | "unknown";

export interface EtcdErrorDetails {
  readonly kind: EtcdErrorKind;
  /** Service and method, as "Cluster.MemberAdd". */
  readonly call: string;
  /** The endpoint's name or URL. */
  readonly endpoint: string;
  readonly code: GrpcCode;
  /** etcd's own words, without the "etcdserver: " prefix. */
  readonly said: string;
  readonly outcome: Outcome;
  /** For `compacted` in a watch: the oldest revision that still exists. */
  readonly compactRevision?: bigint;
}

export class EtcdError extends Error {
  override name = "EtcdError";
  readonly kind: EtcdErrorKind;
  readonly call: string;
  readonly endpoint: string;
  readonly code: GrpcCode;
  readonly said: string;
  readonly outcome: Outcome;
  readonly retryable: boolean;
  readonly next: string;
  readonly compactRevision: bigint | undefined;

  constructor(details: EtcdErrorDetails, options?: ErrorOptions) {
    const meaning = meanings[details.kind];
    super(
      `${details.call} on ${details.endpoint}: ${details.said} (${details.kind}); ${meaning.next}`,
      options,
    );
    this.kind = details.kind;
    this.call = details.call;
    this.endpoint = details.endpoint;
    this.code = details.code;
    this.said = details.said;
    this.outcome = details.outcome;
    this.retryable = meaning.retryable;
    this.next = meaning.next;
    this.compactRevision = details.compactRevision;
  }
}

/** True for an `EtcdError` of one of these kinds. */
export function isEtcdError(error: unknown, ...kinds: EtcdErrorKind[]): error is EtcdError {
  return error instanceof EtcdError && (kinds.length === 0 || kinds.includes(error.kind));
}

/** Which kind a status is. */
export function kindOf(code: GrpcCode, said: string): EtcdErrorKind {
  for (const row of rows) if (row.message === said && row.codes.includes(code)) return row.kind;
  // A deadline that passed inside etcd comes back as text under UNKNOWN on some paths.
  if (code === "UNKNOWN" && said === "context deadline exceeded") return "deadline";
  if (code === "UNKNOWN" && said === "context canceled") return "cancelled";
  // Some failures lose their code on the way (forwarded between members); the words remain.
  if (code === "UNKNOWN") return rows.find((row) => row.message === said)?.kind ?? "unknown";
  return byCode[code];
}

/** Drops etcd's prefix, so that one message is one string; `auth: ` is that of some refusals of 3.5. */
function withoutPrefix(message: string): string {
  return message.replace(/^(?:etcdserver|auth): /, "");
}

/** Reads a status that etcd has put into a text, as "rpc error: code = PermissionDenied desc = …". */
export function readStatus(text: string): { code: GrpcCode; said: string } {
  const [, name, said] = /^rpc error: code = (\w+) desc = (.*)$/s.exec(text) ?? [];
  const spelled = name?.replace(/(?<=[a-z])(?=[A-Z])/g, "_").toUpperCase();
  const code =
    grpcCodes.find((known) => known === spelled) ?? (spelled === "CANCELED" ? "CANCELLED" : "UNKNOWN");
  return { code, said: withoutPrefix(said ?? text) };
}

/**
 * Kinds with which etcd says that it did not do it. With all others a change that was sent may have
 * been applied: also NOSPACE, where a write can get through (R27).
 */
const unknownOutcome: ReadonlySet<EtcdErrorKind> = new Set<EtcdErrorKind>([
  "unavailable",
  "deadline",
  "cancelled",
  "request-timed-out",
  "leader-changed",
  "server-stopped",
  "no-space",
  "corrupt",
  "unknown",
]);

/** Gives a transport's failure its meaning. */
export function toEtcdError(failure: RpcFailure, call: string, endpoint: string): EtcdError {
  const said = withoutPrefix(failure.message);
  const kind = failure.tls ?? kindOf(failure.code, said);
  const outcome: Outcome =
    failure.progress === "not-sent" || (failure.progress === "answered" && !unknownOutcome.has(kind))
      ? "not-applied"
      : "unknown";
  return new EtcdError({ kind, call, endpoint, code: failure.code, said, outcome }, { cause: failure });
}
