/**
 * Why a call over HTTP/2 has no answer. The clients of etcd and of Kubernetes give it their own words; what they share
 * is how far it got, and whether a person, time or another server can help.
 */
import { DeadlineExceeded } from "../seams/clock.ts";

/** `not-sent`: the server has not looked at it; `interrupted`: only looking can tell whether it happened. */
export type Progress = "not-sent" | "interrupted";

export type Fault =
  | "cancelled"
  | "timeout"
  /** By a bound of ours. */
  | "overloaded"
  /** A TLS handshake that failed for what it found: our trust in the server, or the server's in us. */
  | "untrusted-server"
  | "client-certificate-refused"
  | "connection";

export class Http2Failure extends Error {
  override name = "Http2Failure";
  readonly progress: Progress;
  readonly fault: Fault;
  constructor(progress: Progress, fault: Fault, message: string, options?: ErrorOptions) {
    super(message, options);
    this.progress = progress;
    this.fault = fault;
  }
}

/** The caller's signal ended it. */
export function ended(signal: AbortSignal, progress: Progress): Http2Failure {
  const late = signal.reason instanceof DeadlineExceeded;
  const message = late ? signal.reason.message : "cancelled by the client";
  return new Http2Failure(progress, late ? "timeout" : "cancelled", message, { cause: signal.reason });
}

const UNTRUSTED = /^(CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|ERR_TLS_CERT|INVALID_CA|INVALID_PURPOSE)/;
/** An alert is the server's word: it saw our certificate, or none, and did not like it. */
const REFUSED = /^ERR_SSL_.*ALERT_(BAD_CERTIFICATE|UNKNOWN_CA|CERTIFICATE)/;

/** A connection that was not made. */
export function connectFailure(error: unknown): Http2Failure {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const message = error instanceof Error ? error.message : String(error);
  const noTls =
    /WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG/.test(code) || message.includes("before secure TLS");
  const hint = noTls ? " (perhaps the server does not speak TLS here)" : "";
  const trust = REFUSED.test(code) ? "client-certificate-refused" : "connection";
  const fault = UNTRUSTED.test(code) ? "untrusted-server" : trust;
  return new Http2Failure("not-sent", fault, `${message || code}${hint}`, { cause: error });
}
