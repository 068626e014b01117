/** Why a snapshot was not restored, as one word that code compares and a sentence that says what to do. */
import type { RestoreFault } from "../api/bootstrap.ts";
import { EtcdutlError, type EtcdutlErrorReason } from "../etcd/etcdutl.ts";
import { KeyError } from "./codec/key.ts";
import { SnapshotDamaged } from "./inspect.ts";
import { ManifestError } from "./manifest.ts";
import { isStoreError, type StoreErrorKind } from "./store/store.ts";

export class RestoreError extends Error {
  override name = "RestoreError";
  readonly fault: RestoreFault;
  constructor(fault: RestoreFault, message: string, options?: ErrorOptions) {
    super(message, options);
    this.fault = fault;
  }
}

const OF_STORES: Readonly<Record<StoreErrorKind, RestoreFault>> = {
  denied: "denied",
  "no-place": "no-place",
  "not-found": "not-found",
  exists: "failed",
  full: "space",
  unreachable: "unreachable",
  interrupted: "unreachable",
  invalid: "invalid",
  failed: "failed",
};

const OF_ETCDUTL: Partial<Record<EtcdutlErrorReason, RestoreFault>> = {
  "not-supported": "version",
  "hash-mismatch": "damaged",
  "not-a-snapshot": "damaged",
};

/** Whatever a restore threw, as the fault it is. */
export function restoreErrorOf(error: unknown): RestoreError {
  if (error instanceof RestoreError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new RestoreError(faultOf(error), message, { cause: error });
}

function faultOf(error: unknown): RestoreFault {
  if (isStoreError(error)) return OF_STORES[error.kind];
  if (error instanceof SnapshotDamaged || error instanceof ManifestError) return "damaged";
  if (error instanceof KeyError) return "key";
  if (error instanceof EtcdutlError) return OF_ETCDUTL[error.reason] ?? "failed";
  return "failed";
}
