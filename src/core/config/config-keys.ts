/**
 * What etcd's `--config-file` understands, per version, as read from embed.Config of 3.4.23, 3.5.35, 3.6.16
 * and 3.7.3. etcd ignores keys it does not know without a word, so this table is the only guard: a setting
 * that is not in it for a version is reported, never just written. Keys that nobody may set here, such as
 * force-new-cluster (R22) or unsafe-no-fsync (R25), are left out on purpose.
 */
import { parseDuration } from "../../api/duration.ts";
import { compareVersions, minorNumber, parseVersion, version as parse } from "../version/version.ts";

/** What kind of value stands behind a key. Durations are nanoseconds here, not "1m" as on the command line. */
export type Kind = "bool" | "int" | "duration" | "text" | "list" | "section";
export type Value = boolean | number | string | readonly string[];

interface Key {
  readonly kind: Kind;
  /** The first version that has it. */
  readonly since: string;
  /** The last minor that has it; undefined: still there. */
  readonly last?: string;
}

const table = new Map<string, Key>();

function known(since: string, last: string | undefined, kinds: Partial<Record<Kind, string>>): void {
  for (const [kind, keys] of Object.entries(kinds)) {
    for (const key of keys.split(/\s+/)) table.set(key, { kind: kind as Kind, since, last });
  }
}

known("3.4.0", undefined, {
  text: `name data-dir initial-cluster initial-cluster-state initial-cluster-token
    initial-advertise-peer-urls advertise-client-urls listen-peer-urls listen-client-urls listen-metrics-urls
    auto-compaction-mode auto-compaction-retention cors host-whitelist metrics logger log-level`,
  int: `snapshot-count max-snapshots max-wals heartbeat-interval election-timeout backend-batch-limit
    quota-backend-bytes max-txn-ops max-request-bytes bcrypt-cost`,
  bool: "strict-reconfig-check pre-vote enable-pprof enable-grpc-gateway",
  duration: "backend-batch-interval grpc-keepalive-min-time grpc-keepalive-interval grpc-keepalive-timeout",
  list: "cipher-suites log-outputs",
  section: "client-transport-security peer-transport-security",
});
// Patches before this one were not looked at.
known("3.4.23", undefined, { int: "max-concurrent-streams" });
known("3.4.0", "3.4", { text: "experimental-backend-bbolt-freelist-type" });
known("3.4.0", "3.6", {
  bool: `experimental-initial-corrupt-check experimental-enable-lease-checkpoint
    experimental-enable-lease-checkpoint-persist`,
  int: "experimental-compaction-batch-limit",
  duration: `experimental-corrupt-check-time experimental-watch-progress-notify-interval
    experimental-warning-apply-duration`,
});
known("3.5.0", undefined, { text: "backend-bbolt-freelist-type", section: "socket-options" });
known("3.5.8", undefined, { text: "tls-min-version tls-max-version" });
known("3.5.0", "3.6", {
  bool: `experimental-compact-hash-check-enabled experimental-enable-distributed-tracing
    experimental-memory-mlock experimental-txn-mode-write-with-shared-buffer`,
  int: `experimental-bootstrap-defrag-threshold-megabytes experimental-snapshot-catch-up-entries
    experimental-distributed-tracing-sampling-rate`,
  duration: `experimental-compact-hash-check-time experimental-compaction-sleep-interval
    experimental-downgrade-check-time`,
  text: `experimental-distributed-tracing-address experimental-distributed-tracing-service-name
    experimental-distributed-tracing-instance-id`,
});
known("3.5.14", "3.6", { bool: "experimental-stop-grpc-service-on-defrag" });
known("3.6.0", undefined, {
  text: `feature-gates distributed-tracing-address distributed-tracing-service-name
    distributed-tracing-instance-id`,
  int: `max-learners compaction-batch-limit bootstrap-defrag-threshold-megabytes snapshot-catchup-entries
    distributed-tracing-sampling-rate`,
  bool: "enable-distributed-tracing memory-mlock",
  duration: `corrupt-check-time compact-hash-check-time compaction-sleep-interval
    watch-progress-notify-interval warning-apply-duration warning-unary-request-duration
    downgrade-check-time`,
});
known("3.6.0", "3.6", { duration: "experimental-warning-unary-request-duration" });

export function kindOf(key: string, version: string): Kind | undefined {
  const entry = table.get(key);
  if (!entry) return undefined;
  const tooOld = compareVersions(parse(version), parse(entry.since)) < 0;
  const tooNew = entry.last !== undefined && minorNumber(version) > minorNumber(entry.last);
  return tooOld || tooNew ? undefined : entry.kind;
}

/** Feature gates and their first version; `AllAlpha` and `AllBeta` stand for whole groups. */
const GATES: Readonly<Record<string, string>> = {
  AllAlpha: "3.6.0",
  AllBeta: "3.6.0",
  CompactHashCheck: "3.6.0",
  InitialCorruptCheck: "3.6.0",
  LeaseCheckpoint: "3.6.0",
  LeaseCheckpointPersist: "3.6.0",
  SetMemberLocalAddr: "3.6.0",
  StopGRPCServiceOnDefrag: "3.6.0",
  TxnModeWriteWithSharedBuffer: "3.6.0",
  FastLeaseKeepAlive: "3.7.0",
  PriorityRequest: "3.7.0",
};

export function hasGate(gate: string, version: string): boolean {
  const since = Object.hasOwn(GATES, gate) ? GATES[gate] : undefined;
  return since !== undefined && compareVersions(parse(version), parse(since)) >= 0;
}

/** Switches that became gates in 3.6; there, both forms for one feature are a start error. */
export const GATE_OF_SWITCH: ReadonlyMap<string, string> = new Map([
  ["experimental-initial-corrupt-check", "InitialCorruptCheck"],
  ["experimental-compact-hash-check-enabled", "CompactHashCheck"],
  ["experimental-enable-lease-checkpoint", "LeaseCheckpoint"],
  ["experimental-enable-lease-checkpoint-persist", "LeaseCheckpointPersist"],
  ["experimental-stop-grpc-service-on-defrag", "StopGRPCServiceOnDefrag"],
  ["experimental-txn-mode-write-with-shared-buffer", "TxnModeWriteWithSharedBuffer"],
]);

export function switchOfGate(gate: string): string | undefined {
  return [...GATE_OF_SWITCH].find(([, name]) => name === gate)?.[0];
}

/** A text as it was written for the command line, in the type that the file wants; undefined when it is none. */
export function toValue(kind: Kind, text: string): Value | undefined {
  switch (kind) {
    case "bool":
      if (/^(1|t|T|true|TRUE|True)$/.test(text)) return true;
      return /^(0|f|F|false|FALSE|False)$/.test(text) ? false : undefined;
    case "int":
      return /^-?\d{1,15}$/.test(text) ? Number(text) : undefined;
    case "duration": {
      const milliseconds = text === "0" ? 0 : parseDuration(text);
      return milliseconds === undefined ? undefined : nanoseconds(milliseconds);
    }
    case "text":
      return text;
    case "list":
      return text.split(",");
    case "section":
      return undefined;
  }
}

/** Go's time.Duration as JSON: a whole number of nanoseconds. */
export function nanoseconds(milliseconds: number): number {
  return Math.round(milliseconds * 1e6);
}

export function isFrom(version: string, minor: string): boolean {
  return parseVersion(version) !== undefined && minorNumber(version) >= minorNumber(minor);
}
