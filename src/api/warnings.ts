/**
 * What is allowed but seldom meant. Nothing here stops a cluster; front ends show it beside the answer.
 */
import { parseDuration } from "./duration.ts";
import type { EtcdClusterSpec } from "./etcd-cluster-spec.ts";
import { parseQuantity, quotaOf } from "./quantity.ts";
import { DEFAULT_SIZE } from "./storage.ts";
import type { ApiError } from "./validate.ts";

/** etcd's own advice for the largest database (R26). */
const SUGGESTED_QUOTA = 8 * 2 ** 30;

/** R43: the first patch of each minor without them. */
const AUTH_FLOORS: Readonly<Record<string, number>> = { "3.5": 33, "3.6": 14, "3.7": 1 };

function isBelowAuthFloor(version: string): boolean {
  const [major = "", minor = "", patch = ""] = version.split(".");
  return Number(patch) < (AUTH_FLOORS[`${major}.${minor}`] ?? 0);
}

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
      "etcd recommends at most 8Gi: larger databases are slow to start, snapshot and defragment",
    ],
    [
      storage.medium !== "HostPath" && quota <= size && 2 * quota > size,
      "spec.storage.size",
      "less than twice the quota: a full database may leave no room for the write-ahead log and for defragmentation",
    ],
    [
      compactionIsOff(options.autoCompaction.retention),
      "spec.options.autoCompaction.retention",
      "automatic compaction is off: the database grows until it is full, unless a client compacts it, as Kubernetes does",
    ],
    [
      clientMode === "Disabled",
      "spec.tls",
      "clients use plaintext: any client on the network can read and write the data",
    ],
    [
      spec.auth?.enabled === true && isBelowAuthFloor(spec.version),
      "spec.version",
      "this etcd has known ways around the permissions of users: with auth enabled run at least 3.5.33, 3.6.14 or 3.7.1",
    ],
    [
      spec.auth?.enabled === true && clientMode === "Disabled",
      "spec.auth",
      "clients use plaintext: any client on the network can read passwords and tokens",
    ],
    [
      clientMode === "Disabled" && tls.clientAuth === "None",
      "spec.tls.clientAuth",
      "has no effect: clients use plaintext, so no client certificate is requested",
    ],
    [
      clientMode === "Disabled" && tls.extraSANs.length > 0,
      "spec.tls.extraSANs",
      "have no effect: clients use plaintext, so there is no server certificate",
    ],
    ...(["clients", "metrics"] as const).map((field): [boolean, string, string] => [
      spec.networkPolicy?.enabled === false && spec.networkPolicy[field] !== undefined,
      `spec.networkPolicy.${field}`,
      "has no effect while networkPolicy.enabled is false",
    ]),
    [
      !options.corruptCheck.compactHash && options.corruptCheck.compactHashTime !== "1m",
      "spec.options.corruptCheck.compactHashTime",
      "has no effect while corruptCheck.compactHash is false",
    ],
    [
      isVolatile(storage.medium) && storage.retention.onScaleIn === "Retain",
      "spec.storage.retention.onScaleIn",
      `has no effect: with medium ${storage.medium} a member's data is lost with its Pod`,
    ],
    [
      storage.medium === "HostPath" && size !== parseQuantity(DEFAULT_SIZE),
      "spec.storage.size",
      "has no effect with medium HostPath: a member may use what the disk of its node has; limit the database with options.quotaBackendBytes",
    ],
    [
      clientMode !== "Disabled" && tls.clientAuth === "None",
      "spec.tls.clientAuth",
      "clients need no certificate: any client that can reach etcd can read and write the data",
    ],
  ];
  return warnings.filter(([applies]) => applies).map(([, path, message]) => ({ path, message }));
}

const isVolatile = (medium: string): boolean => medium === "Memory" || medium === "Ephemeral";

const compactionIsOff = (retention: string | number): boolean =>
  String(retention) === "0" || parseDuration(String(retention)) === 0;
