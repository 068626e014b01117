/** What an answer of S3 means: a kind to compare, and what to do. */
import type { IncomingHttpHeaders } from "node:http";
import { StoreError, type StoreErrorKind } from "../store.ts";
import { HttpFailure } from "../http/failure.ts";
import { textOf } from "../http/xml.ts";

/** An answer that is not a success. */
export class S3Failure extends HttpFailure {
  override name = "S3Failure";
  readonly region: string | undefined;
  constructor(status: number, headers: IncomingHttpHeaders, body: string) {
    super(status, textOf(body, "Code") ?? "", textOf(body, "Message") ?? "");
    const region = headers["x-amz-bucket-region"] ?? textOf(body, "Region");
    this.region = typeof region === "string" ? region : undefined;
  }

  override get isTransient(): boolean {
    return super.isTransient || ["RequestTimeout", "SlowDown", "InternalError"].includes(this.code);
  }
}

const CODES: Readonly<Record<string, readonly [StoreErrorKind, string]>> = {
  AccessDenied: [
    "denied",
    "the credentials lack the right; allow s3:GetObject, PutObject, DeleteObject, AbortMultipartUpload and ListBucket for this bucket and prefix",
  ],
  AllAccessDisabled: ["denied", "access to the bucket is disabled"],
  InvalidAccessKeyId: ["denied", "the access key does not exist; check AWS_ACCESS_KEY_ID"],
  SignatureDoesNotMatch: ["denied", "the secret key is wrong; check AWS_SECRET_ACCESS_KEY"],
  ExpiredToken: ["denied", "the session has expired; get new credentials"],
  InvalidToken: ["denied", "the session token is not valid; check AWS_SESSION_TOKEN"],
  RequestTimeTooSkewed: ["denied", "the clock of this machine is wrong by more than 15 minutes; set it"],
  NoSuchBucket: ["no-place", "the bucket does not exist; create it, or check its name and the endpoint"],
  NoSuchKey: ["not-found", "there is no such object; list what there is with `snapshot ls`"],
  PreconditionFailed: ["exists", "it exists already and is not overwritten; use another name"],
  ConditionalRequestConflict: ["exists", "another writer is writing it at this moment; use another name"],
  QuotaExceeded: [
    "full",
    "the bucket's quota is used up; delete snapshots with `snapshot prune`, or raise it",
  ],
  XMinioStorageFull: ["full", "the store is full; delete snapshots with `snapshot prune`, or add space"],
  EntityTooLarge: ["full", "the store takes no object of this size"],
};

const STATUSES: Readonly<Record<number, readonly [StoreErrorKind, string]>> = {
  401: ["denied", "the credentials were refused"],
  403: ["denied", "access was denied; check the credentials and the policy of the bucket"],
  404: ["not-found", "there is no such object or bucket; check the name and the endpoint"],
  412: ["exists", "it exists already and is not overwritten; use another name"],
  507: ["full", "the store is full; delete snapshots with `snapshot prune`, or add space"],
};

/** In words, for what was tried: `write s3://bucket/a.db`. */
export function storeError(doing: string, failure: S3Failure): StoreError {
  const message = (next: string) => `cannot ${doing}: ${next} (${failure.message})`;
  const wrongRegion =
    failure.region !== undefined &&
    (failure.status === 301 || failure.status === 307 || failure.code === "AuthorizationHeaderMalformed");
  if (wrongRegion)
    return new StoreError(
      "no-place",
      message(`the bucket is in region ${failure.region}; pass --s3-region ${failure.region}`),
      {
        cause: failure,
      },
    );
  const [kind, next] = CODES[failure.code] ??
    STATUSES[failure.status] ?? [
      failure.isTransient ? "unreachable" : "failed",
      failure.isTransient ? "the store keeps failing; try again later" : "the store refused it",
    ];
  return new StoreError(kind, message(next), { cause: failure });
}
