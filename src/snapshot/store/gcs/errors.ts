/** What an answer of Google Cloud Storage means: a kind to compare, and what to do. */
import { HttpFailure } from "../http/failure.ts";
import { parseObject } from "../http/token.ts";
import { StoreError, type StoreErrorKind } from "../store.ts";

export class GcsFailure extends HttpFailure {
  override name = "GcsFailure";
  /** True when the answer is about the bucket and not about an object in it. */
  readonly aboutBucket: boolean;

  constructor(status: number, body: string, aboutBucket: boolean) {
    const { error } = parseObject(body) as {
      error?: { message?: unknown; errors?: readonly { reason?: unknown }[] };
    };
    const reason = error?.errors?.[0]?.reason;
    const message = typeof error?.message === "string" ? error.message : body.slice(0, 200);
    super(status, typeof reason === "string" ? reason : "", message.trim());
    this.aboutBucket = aboutBucket;
  }

  override get isTransient(): boolean {
    return super.isTransient || ["rateLimitExceeded", "userRateLimitExceeded"].includes(this.code);
  }
}

/** Answered with 403 or 412, whose usual reasons they are not. */
const CODES: Readonly<Record<string, readonly [StoreErrorKind, string]>> = {
  quotaExceeded: [
    "full",
    "a quota of the project is used up; delete snapshots with `snapshot prune`, or raise it",
  ],
  retentionPolicyNotMet: ["denied", "the bucket's retention policy keeps the object from being changed"],
  objectUnderActiveHold: ["denied", "a hold keeps the object from being changed; release it"],
  accountDisabled: ["denied", "the account is disabled; check the billing of the project"],
  userProjectAccountProblem: ["denied", "the project is not in good standing; check its billing"],
  rateLimitExceeded: ["unreachable", "the store refuses more requests for now; try again later"],
  userRateLimitExceeded: ["unreachable", "the store refuses more requests for now; try again later"],
};

const STATUSES: Readonly<Record<number, readonly [StoreErrorKind, string]>> = {
  401: ["denied", "the token was refused; check the service account"],
  403: [
    "denied",
    "the service account lacks the right; give it the role Storage Object Admin on the bucket, or one that may create, read, list and delete objects",
  ],
  404: ["not-found", "there is no such object or bucket; list what there is with `snapshot ls`"],
  412: ["exists", "it exists already and is not overwritten; use another name"],
  413: ["full", "the store takes no object of this size"],
  507: ["full", "the store is full; delete snapshots with `snapshot prune`, or add space"],
};

export function storeError(doing: string, failure: GcsFailure): StoreError {
  const noBucket: readonly [StoreErrorKind, string] | undefined =
    failure.status === 404 && failure.aboutBucket
      ? ["no-place", "the bucket does not exist; create it, or check its name and the endpoint"]
      : undefined;
  const [kind, next] = noBucket ??
    CODES[failure.code] ??
    STATUSES[failure.status] ?? [
      failure.isTransient ? "unreachable" : "failed",
      failure.isTransient ? "the store keeps failing; try again later" : "the store refused it",
    ];
  return new StoreError(kind, `cannot ${doing}: ${next} (${failure.message})`, { cause: failure });
}
