/**
 * Why a call to the API server did not succeed, as a small union read from HTTP status and `Status.reason`, never
 * from the text. Protects from treating every failure alike: a conflict wants a fresh look, a 429 wants a
 * wait, an invalid object wants a person, and a call without an answer may have happened.
 */
import { KubeFailure, type KubeRequest, type KubeResponse } from "../seams/kube-transport.ts";

export type KubeReason =
  | "NotFound"
  | "AlreadyExists"
  /** Another state than the one the call was made for; with `causes` when a field belongs to another manager. */
  | "Conflict"
  | "Invalid"
  | "BadRequest"
  | "Unauthorized"
  | "Forbidden"
  | "MethodNotAllowed"
  | "TooLarge"
  | "TooManyRequests"
  /** The resourceVersion or the continue token is too old: list anew. */
  | "Expired"
  /** The resourceVersion is newer than what this server knows yet (or, after a restore, will know for long). */
  | "TooNew"
  | "ServerTimeout"
  | "Unavailable"
  | "Internal"
  /** No answer, and nothing was sent. */
  | "Unreachable"
  /** No answer, and it may have happened. */
  | "Interrupted"
  | "Cancelled";

export interface KubeCause {
  /** `spec.replicas`, where the cause is about a field. */
  readonly field: string | undefined;
  readonly reason: string | undefined;
  readonly message: string;
}

/** What the server said, in its own words and about which object. */
export interface KubeAnswer {
  readonly message: string;
  /** The resource; an authorizer always names it. */
  readonly kind: string | undefined;
  /** Empty where the call named none: an authorizer sees no name in what is to be created, admission does. */
  readonly name: string | undefined;
}

interface KubeErrorDetails extends ErrorOptions {
  readonly causes?: readonly KubeCause[];
  readonly answer?: KubeAnswer | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly status?: number;
  readonly mayHaveHappened?: boolean;
}

export class KubeError extends Error {
  override name = "KubeError";
  readonly reason: KubeReason;
  readonly causes: readonly KubeCause[];
  /** Undefined where the server sent no Status. */
  readonly answer: KubeAnswer | undefined;
  /** The server's own wish when to be asked again. */
  readonly retryAfterMs: number | undefined;
  /** Undefined when there was no answer. */
  readonly status: number | undefined;
  /** Only reading again tells what became of the call. */
  readonly mayHaveHappened: boolean;

  constructor(reason: KubeReason, what: string, message: string, details: KubeErrorDetails = {}) {
    super(`${what}: ${message}${message.endsWith(".") ? "" : ";"} ${ADVICE[reason]}`, details);
    this.reason = reason;
    this.causes = details.causes ?? [];
    this.answer = details.answer;
    this.retryAfterMs = details.retryAfterMs;
    this.status = details.status;
    this.mayHaveHappened = details.mayHaveHappened ?? false;
  }
}

/** What to do next; ends every message. */
const ADVICE: Readonly<Record<KubeReason, string>> = {
  NotFound: "the object does not exist, or its CustomResourceDefinition is not installed",
  AlreadyExists: "an object of this name exists: read it and check its owner",
  Conflict: "the object changed: read it again and retry",
  Invalid: "correct the object; retrying it unchanged fails again",
  BadRequest: "the API server does not understand the request; its version may not match",
  Unauthorized: "the credentials were rejected: check the token or the client certificate",
  Forbidden: "rejected by RBAC, an admission policy or a quota",
  MethodNotAllowed: "the resource does not support this verb",
  TooLarge: "make the object smaller",
  TooManyRequests: "the API server is overloaded: retry later",
  Expired: "list again",
  TooNew: "retry; if it repeats, list again",
  ServerTimeout: "check whether it was done, then retry",
  Unavailable: "retry later",
  Internal: "check the API server's log, and retry later",
  Unreachable: "check that the API server is running and reachable",
  Interrupted: "the outcome is unknown: read the object before retrying",
  Cancelled: "the request was cancelled",
};

export function isReason(error: unknown, ...reasons: readonly KubeReason[]): error is KubeError {
  return error instanceof KubeError && reasons.includes(error.reason);
}

/** `PATCH /api/v1/…/pods/web`: what was tried, on what. */
export function describeRequest({ method, path }: KubeRequest): string {
  return `${method} ${path}`;
}

/** An answer that is no success. */
export function errorFromResponse(what: string, response: KubeResponse): KubeError {
  const { status, body } = response;
  const parsed = isStatus(body) ? body : undefined;
  const causes = (parsed?.details?.causes ?? []).map((cause): KubeCause => ({
    field: cause.field,
    reason: cause.reason,
    message: cause.message ?? "",
  }));
  const reason = reasonOf(status, parsed?.reason, causes);
  const seconds = parsed?.details?.retryAfterSeconds;
  const retryAfterMs = response.retryAfterMs ?? (seconds === undefined ? undefined : seconds * 1_000);
  const text =
    parsed?.message ?? (typeof body === "string" && body !== "" ? body.slice(0, 500) : "no reason");
  const answer = parsed && {
    message: text,
    kind: parsed.details?.kind,
    name: parsed.details?.name,
  };
  return new KubeError(reason, what, `${status} ${text}`, {
    causes,
    answer,
    retryAfterMs,
    status,
    // Time-outs and 5xx are the server giving up on an answer, not on the work.
    mayHaveHappened: reason === "ServerTimeout" || reason === "Internal",
  });
}

/** Whatever a transport threw. */
export function errorFromFailure(what: string, failure: unknown): KubeError {
  if (failure instanceof KubeError) return failure;
  if (!(failure instanceof KubeFailure)) {
    const message = failure instanceof Error ? failure.message : String(failure);
    return new KubeError("Interrupted", what, message, { cause: failure, mayHaveHappened: true });
  }
  const mayHaveHappened = failure.progress === "interrupted";
  return new KubeError(reasonOfFailure(failure), what, failure.message, { cause: failure, mayHaveHappened });
}

function reasonOfFailure({ why, progress }: KubeFailure): KubeReason {
  if (why === "cancelled") return "Cancelled";
  if (why === "overloaded") return "TooManyRequests";
  return progress === "interrupted" ? "Interrupted" : "Unreachable";
}

interface StatusBody {
  readonly kind: "Status";
  readonly message?: string;
  readonly reason?: string;
  readonly code?: number;
  readonly details?: {
    readonly kind?: string;
    readonly name?: string;
    readonly causes?: readonly { field?: string; reason?: string; message?: string }[];
    readonly retryAfterSeconds?: number;
  };
}

export function isStatus(body: unknown): body is StatusBody {
  return typeof body === "object" && body !== null && "kind" in body && body.kind === "Status";
}

/** The server's reason first: 409 and 500 each stand for several. */
function reasonOf(status: number, reason: string | undefined, causes: readonly KubeCause[]): KubeReason {
  if (causes.some((cause) => cause.reason === "ResourceVersionTooLarge")) return "TooNew";
  // An apply or a patch for another object than the one that has the name now.
  if (reason === "Invalid" && causes.some((cause) => cause.field === "metadata.uid")) return "Conflict";
  if (reason === "Timeout") return "ServerTimeout";
  const known = reason === undefined ? undefined : BY_REASON[reason];
  return known ?? BY_STATUS[status] ?? (status >= 500 ? "Internal" : "BadRequest");
}

const BY_REASON: Readonly<Record<string, KubeReason>> = {
  NotFound: "NotFound",
  AlreadyExists: "AlreadyExists",
  Conflict: "Conflict",
  Invalid: "Invalid",
  BadRequest: "BadRequest",
  Unauthorized: "Unauthorized",
  Forbidden: "Forbidden",
  MethodNotAllowed: "MethodNotAllowed",
  RequestEntityTooLarge: "TooLarge",
  TooManyRequests: "TooManyRequests",
  Expired: "Expired",
  Gone: "Expired",
  ServerTimeout: "ServerTimeout",
  ServiceUnavailable: "Unavailable",
  InternalError: "Internal",
};

const BY_STATUS: Readonly<Record<number, KubeReason>> = {
  400: "BadRequest",
  401: "Unauthorized",
  403: "Forbidden",
  404: "NotFound",
  405: "MethodNotAllowed",
  409: "Conflict",
  410: "Expired",
  413: "TooLarge",
  422: "Invalid",
  429: "TooManyRequests",
  502: "Unavailable",
  503: "Unavailable",
  504: "ServerTimeout",
};
