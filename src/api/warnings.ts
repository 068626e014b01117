/**
 * What is allowed but seldom meant. Nothing here stops a cluster; front ends show it beside the answer.
 */
import { parseDuration } from "./duration.ts";
import type { EtcdClusterSpec } from "./etcd-cluster-spec.ts";
import { parseQuantity, quotaOf } from "./quantity.ts";
import type { ApiError } from "./validate.ts";

/** etcd's own advice for the largest database (R26). */
const SUGGESTED_QUOTA = 8 * 2 ** 30;

/** Warnings in the shape of errors: the field, and what to think about. */
export function clusterWarnings(spec: EtcdClusterSpec): ApiError[] {
  const { replicas, storage, tls, options } = spec;
  const quota = parseQuantity(quotaOf(spec)) ?? 0;
  const size = parseQuantity(storage.size) ?? 0;
  const clientMode = tls.client?.mode ?? tls.mode;
  const warnings: [boolean, string, string][] = [
    [
      replicas > 0 && replicas % 2 === 0,
      "spec.replicas",
      `${replicas} voting members tolerate no more failures than ${replicas - 1}: prefer ${replicas - 1} or ${replicas + 1}`,
    ],
    [
      quota > SUGGESTED_QUOTA,
      "spec.options.quotaBackendBytes",
      "etcd suggests at most 8Gi: larger databases start, snapshot and defragment slowly",
    ],
    [
      storage.medium !== "HostPath" && quota <= size && 2 * quota > size,
      "spec.storage.size",
      "less than twice the quota: a full database may leave no room for the write-ahead log and for defragmentation",
    ],
    [
      compactionIsOff(options.autoCompaction.retention),
      "spec.options.autoCompaction.retention",
      "automatic compaction is off: unless a client compacts, as Kubernetes does, the database grows until it is full",
    ],
    [
      clientMode === "Disabled",
      "spec.tls",
      "clients talk to etcd in plain text: everybody on the network can read and write",
    ],
    [
      clientMode === "Disabled" && tls.clientAuth === "None",
      "spec.tls.clientAuth",
      "has no effect: clients use plaintext, so there are no certificates to ask for",
    ],
    [
      clientMode === "Disabled" && tls.extraSANs.length > 0,
      "spec.tls.extraSANs",
      "have no effect: clients use plaintext, so there is no server certificate to put them into",
    ],
    [
      !options.corruptCheck.compactHash && options.corruptCheck.compactHashTime !== "1m",
      "spec.options.corruptCheck.compactHashTime",
      "has no effect while corruptCheck.compactHash is false",
    ],
    [
      isVolatile(storage.medium) && storage.retention.onScaleIn === "Retain",
      "spec.storage.retention.onScaleIn",
      `has no effect: with medium ${storage.medium} the data of a member ends with its Pod`,
    ],
    [
      storage.medium === "HostPath" &&
        (storage.retention.onScaleIn === "Delete" || storage.retention.onDelete === "Delete"),
      "spec.storage.retention",
      `Delete does not reach the nodes: the data of a removed member stays in its directory below ${storage.hostPath}/<namespace>/<cluster> until it is deleted by hand; Retain says so`,
    ],
    [
      clientMode !== "Disabled" && tls.clientAuth === "None",
      "spec.tls.clientAuth",
      "clients need no certificate: everybody who reaches etcd can read and write",
    ],
  ];
  return warnings.filter(([applies]) => applies).map(([, path, message]) => ({ path, message }));
}

const isVolatile = (medium: string): boolean => medium === "Memory" || medium === "Ephemeral";

const compactionIsOff = (retention: string | number): boolean =>
  String(retention) === "0" || parseDuration(String(retention)) === 0;
