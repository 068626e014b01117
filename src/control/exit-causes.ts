/** What the reason of an exit, as etcd's log told it, means to the rules; the same on every platform. */
import type { ExitCause } from "../core/observation.ts";
import type { ExitReason } from "../etcd/exit-reasons.ts";

export const CAUSES: Readonly<Record<ExitReason, ExitCause>> = {
  stopped: "killed",
  killed: "killed",
  "permanently-removed": "removed",
  "cluster-id-mismatch": "unknown",
  "member-count-unequal": "member-list-mismatch",
  "peer-urls-unmatched": "member-list-mismatch",
  "already-bootstrapped": "already-bootstrapped",
  "cluster-unreachable": "unknown",
  "not-in-initial-cluster": "bad-configuration",
  "data-newer-version": "data-newer",
  "data-older-version": "bad-configuration",
  "cluster-newer-version": "data-newer",
  "v2-content": "bad-configuration",
  "data-lost": "data-corrupt",
  "member-unknown": "unknown",
  "corrupt-data": "data-corrupt",
  "corrupt-at-start": "data-differs",
  "port-in-use": "address-in-use",
  "bad-flag": "bad-configuration",
  "bad-config": "bad-configuration",
  "bad-certificate": "bad-configuration",
  "disk-full": "disk-full",
  "permission-denied": "unknown",
  "not-a-directory": "unknown",
  panic: "unknown",
  unknown: "unknown",
};
