/** What an answer of Azure Blob Storage means: a kind to compare, and what to do. */
import type { IncomingHttpHeaders } from "node:http";
import { HttpFailure } from "../http/failure.ts";
import { textOf } from "../http/xml.ts";
import { StoreError, type StoreErrorKind } from "../store.ts";

export class AzureFailure extends HttpFailure {
  override name = "AzureFailure";
  constructor(status: number, headers: IncomingHttpHeaders, body: string) {
    const code = headers["x-ms-error-code"] ?? textOf(body, "Code") ?? "";
    // The message goes on with an ID and a time of the request.
    const message = (textOf(body, "Message") ?? "").split("\n", 1)[0] ?? "";
    super(status, typeof code === "string" ? code : "", message);
  }
}

const CODES: Readonly<Record<string, readonly [StoreErrorKind, string]>> = {
  AuthenticationFailed: [
    "denied",
    "the key, token or signature was refused; check the account, its key or SAS, and the clock of this machine",
  ],
  AuthorizationFailure: [
    "denied",
    "access was denied; check the rights and the firewall of the storage account",
  ],
  AuthorizationPermissionMismatch: [
    "denied",
    "the identity lacks the right; give it the role Storage Blob Data Contributor on the container",
  ],
  AccountIsDisabled: ["denied", "the storage account is disabled"],
  ContainerNotFound: [
    "no-place",
    "the container does not exist; create it, or check its name and the account",
  ],
  BlobNotFound: ["not-found", "there is no such object; list what there is with `snapshot ls`"],
  BlobAlreadyExists: ["exists", "it exists already and is not overwritten; use another name"],
  ConditionNotMet: ["exists", "it exists already and is not overwritten; use another name"],
  UnauthorizedBlobOverwrite: ["exists", "it exists already and may not be overwritten; use another name"],
  ContainerBeingDeleted: [
    "no-place",
    "the container is being deleted; use another one, or create it again in a while",
  ],
  ContainerDisabled: ["denied", "the container is disabled"],
  LeaseIdMissing: ["denied", "another client holds a lease on the container or the object; release it"],
  BlobImmutableDueToLegalHold: ["denied", "a legal hold keeps the object from being changed"],
  BlockCountExceedsLimit: ["full", "the store takes no object of this size"],
  BlobImmutableDueToPolicy: ["denied", "a policy of the container keeps the object from being changed"],
  RequestBodyTooLarge: ["full", "the store takes no object of this size"],
};

const STATUSES: Readonly<Record<number, readonly [StoreErrorKind, string]>> = {
  401: ["denied", "the credentials were refused"],
  403: ["denied", "access was denied; check the credentials and the rights on the container"],
  404: ["not-found", "there is no such object or container; check the name and the account"],
  409: ["exists", "it exists already and is not overwritten; use another name"],
  412: ["exists", "it exists already and is not overwritten; use another name"],
  413: ["full", "the store takes no object of this size"],
  507: ["full", "the store is full; delete snapshots with `snapshot prune`, or add space"],
};

export function storeError(doing: string, failure: AzureFailure): StoreError {
  const [kind, next] = CODES[failure.code] ??
    STATUSES[failure.status] ?? [
      failure.isTransient ? "unreachable" : "failed",
      failure.isTransient ? "the store keeps failing; try again later" : "the store refused it",
    ];
  return new StoreError(kind, `cannot ${doing}: ${next} (${failure.message})`, { cause: failure });
}
