/** gRPC's status as it travels in HTTP/2 headers, or as it follows from a call without one, and its time-out header. */
import type { ClientHttp2Stream, IncomingHttpHeaders } from "node:http2";
import { Http2Failure, type Fault } from "../../http2/failure.ts";
import { grpcCodes, RpcFailure, type GrpcCode } from "../../seams/etcd-transport.ts";

/** "%20"-style text, where a stray percent sign stands for itself and bad UTF-8 is replaced. */
export function decodeMessage(text: string): string {
  if (!text.includes("%")) return text;
  const bytes: number[] = [];
  for (let at = 0; at < text.length; at++) {
    const hex = text.slice(at + 1, at + 3);
    if (text[at] === "%" && /^[0-9a-f]{2}$/i.test(hex)) {
      bytes.push(Number.parseInt(hex, 16));
      at += 2;
    } else bytes.push(...Buffer.from(text[at] ?? "", "utf8"));
  }
  return Buffer.from(bytes).toString("utf8");
}

/** The `grpc-timeout` header: at most eight digits and a unit. */
export function encodeTimeout(ms: number): string {
  const whole = Math.max(1, Math.ceil(ms));
  return whole < 1e8 ? `${whole}m` : `${Math.min(99_999_999, Math.ceil(whole / 1000))}S`;
}

function first(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}

/** The failure that headers or trailers announce; undefined when they say OK or carry no status. */
function failureIn(headers: IncomingHttpHeaders): RpcFailure | undefined {
  const status = first(headers["grpc-status"]);
  if (status === undefined || status === "0") return undefined;
  const code = grpcCodes[Number(status)] ?? "UNKNOWN";
  return new RpcFailure(code, decodeMessage(first(headers["grpc-message"]) ?? ""), "answered");
}

function hasStatus(headers: IncomingHttpHeaders): boolean {
  return headers["grpc-status"] !== undefined;
}

/** What an HTTP status without a gRPC status means: something other than etcd answered. */
function failureOfHttp(status: number): RpcFailure {
  const codes = new Map<number, GrpcCode>([
    [400, "INTERNAL"],
    [401, "UNAUTHENTICATED"],
    [403, "PERMISSION_DENIED"],
    [404, "UNIMPLEMENTED"],
    [429, "UNAVAILABLE"],
    [502, "UNAVAILABLE"],
    [503, "UNAVAILABLE"],
    [504, "UNAVAILABLE"],
  ]);
  return new RpcFailure(
    codes.get(status) ?? "UNKNOWN",
    `HTTP status ${status} instead of a gRPC answer`,
    "answered",
  );
}

/** What a call means that has no answer. */
export function rpcFailure(error: unknown): unknown {
  if (!(error instanceof Http2Failure)) return error;
  const { fault, progress, message, cause } = error;
  const codes: Partial<Record<Fault, GrpcCode>> = {
    cancelled: "CANCELLED",
    timeout: "CANCELLED",
    overloaded: "RESOURCE_EXHAUSTED",
  };
  const tls = fault === "untrusted-server" || fault === "client-certificate-refused" ? fault : undefined;
  return new RpcFailure(codes[fault] ?? "UNAVAILABLE", message, progress, { cause, tls });
}

/** Collects a call's status, which comes with the headers (when nothing else does) or after the data. */
export class StatusReader {
  #seen = false;
  #failure: RpcFailure | undefined;

  constructor(stream: ClientHttp2Stream) {
    const read = (headers: IncomingHttpHeaders & { ":status"?: number }) => {
      const status = headers[":status"];
      if (hasStatus(headers)) this.#seen = true;
      else if (status !== undefined && status !== 200) this.#failure ??= failureOfHttp(status);
      this.#failure ??= failureIn(headers);
    };
    stream.on("response", read);
    stream.on("trailers", read);
  }

  get ok(): boolean {
    return this.#seen && this.#failure === undefined;
  }

  get failure(): RpcFailure | undefined {
    return this.#failure;
  }
}
