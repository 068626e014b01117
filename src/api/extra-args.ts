/**
 * Raw etcd flags, for what the typed options do not cover; and the flags that stay out of reach,
 * because the operator sets them itself or because a typed option exists.
 */
import { z } from "zod";
import { stringMap, text } from "./scalars.ts";
import { withRules, type Rule } from "./rule.ts";

/**
 * Flags that decide identity, membership, addresses, certificates or safety. Prefixes end in `-`.
 * `max-learners` is here because unequal values split the membership (H1).
 */
const OWNED = [
  "name",
  "data-dir",
  "wal-dir",
  "config-file",
  "listen-",
  "advertise-client-urls",
  "initial-advertise-peer-urls",
  "initial-cluster",
  "initial-cluster-",
  "discovery",
  "discovery-",
  "force-new-cluster",
  "force-new-cluster-",
  "proxy",
  "proxy-",
  "gateway",
  "cert-file",
  "key-file",
  "client-",
  "trusted-ca-file",
  "auto-tls",
  "peer-",
  "experimental-peer-",
  "ca-file",
  "self-signed-cert-validity",
  "auth-token",
  "auth-token-",
  "strict-reconfig-check",
  "max-learners",
  "experimental-max-learners",
  "unsafe-no-fsync",
  "unsafe-",
  "v2-deprecation",
  "enable-v2",
  "experimental-enable-v2v3",
  "logger",
  "log-outputs",
  "log-format",
  "log-rotation-",
  "enable-log-rotation",
  "log-package-levels",
  "debug",
  "version",
  "help",
];

/** Flags with a typed option, which is rendered for every etcd version. */
const TYPED: Record<string, string> = {
  "quota-backend-bytes": "quotaBackendBytes",
  "auto-compaction-mode": "autoCompaction.mode",
  "auto-compaction-retention": "autoCompaction.retention",
  "heartbeat-interval": "heartbeatInterval",
  "election-timeout": "electionTimeout",
  "snapshot-count": "snapshotCount",
  "max-request-bytes": "maxRequestBytes",
  "max-txn-ops": "maxTxnOps",
  "max-concurrent-streams": "maxConcurrentStreams",
  metrics: "metrics",
  "log-level": "logLevel",
  "feature-gates": "featureGates",
  "experimental-initial-corrupt-check": "corruptCheck.initial",
  "experimental-corrupt-check-time": "corruptCheck.time",
  "corrupt-check-time": "corruptCheck.time",
  "experimental-compact-hash-check-enabled": "corruptCheck.compactHash",
  "experimental-compact-hash-check-time": "corruptCheck.compactHashTime",
  "compact-hash-check-time": "corruptCheck.compactHashTime",
};

const NAME_PATTERN = "^[a-z][a-z0-9]*(-[a-z0-9]+)*$";
const OWNED_PATTERN = `^(${OWNED.map((flag) => (flag.endsWith("-") ? flag : `${flag}$`)).join("|")})`;

const isName = (key: string): boolean => new RegExp(NAME_PATTERN).test(key);
const isOwned = (key: string): boolean => new RegExp(OWNED_PATTERN).test(key);

/** The alphabetically first culprit: a CEL map has no order, and both sides have to say the same. */
const first = (keys: string[]): string => keys.toSorted()[0] ?? "";

type Args = Record<string, string>;

const names: Rule<Args> = {
  cel: `self.all(flag, flag.matches('${NAME_PATTERN}'))`,
  message:
    "extraArgs: write flag names as etcd does, in lower case and without the leading dashes, like max-wals",
  check: (args) => Object.keys(args).every(isName),
};

const notOwned: Rule<Args> = {
  cel: `!self.exists(flag, flag.matches('${OWNED_PATTERN}'))`,
  message:
    "extraArgs may not set flags that Quorate sets itself (identity, addresses, membership, certificates, logs): remove them",
  messageExpression: `'extraArgs may not set ' + self.filter(flag, flag.matches('${OWNED_PATTERN}')).min() + ': Quorate sets it itself; remove it'`,
  check: (args) => !Object.keys(args).some(isOwned),
  messageFor: (args) =>
    `extraArgs may not set ${first(Object.keys(args).filter(isOwned))}: Quorate sets it itself; remove it`,
};

const typedMap = `{${Object.entries(TYPED)
  .map(([flag, option]) => `'${flag}': '${option}'`)
  .join(", ")}}`;

const notTyped: Rule<Args> = {
  cel: `!self.exists(flag, flag in ${typedMap})`,
  message: "extraArgs may not set flags that have an option of their own: use the field under spec.options",
  messageExpression: `'extraArgs may not set ' + self.filter(flag, flag in ${typedMap}).min() + ': use options.' + ${typedMap}[self.filter(flag, flag in ${typedMap}).min()]`,
  check: (args) => !Object.keys(args).some((key) => Object.hasOwn(TYPED, key)),
  messageFor: (args) => {
    const flag = first(Object.keys(args).filter((key) => Object.hasOwn(TYPED, key)));
    return `extraArgs may not set ${flag}: use options.${TYPED[flag]}`;
  },
};

export const extraArgsSchema = withRules(stringMap(32, 1024), names, notOwned, notTyped);

const gateNames: Rule<Record<string, boolean>> = {
  cel: "self.all(gate, gate.matches('^[A-Z][A-Za-z0-9]*$'))",
  message: "featureGates: write gates as etcd does, like StopGRPCServiceOnDefrag: true",
  check: (gates) => Object.keys(gates).every((gate) => /^[A-Z][A-Za-z0-9]*$/.test(gate)),
};

const gatesNotTyped: Rule<Record<string, boolean>> = {
  cel: "!('InitialCorruptCheck' in self) && !('CompactHashCheck' in self)",
  message:
    "featureGates may not set InitialCorruptCheck or CompactHashCheck: use options.corruptCheck.initial and options.corruptCheck.compactHash, which work for every etcd version",
  check: (gates) => !Object.hasOwn(gates, "InitialCorruptCheck") && !Object.hasOwn(gates, "CompactHashCheck"),
};

export const featureGatesSchema = withRules(
  z.record(text(128), z.boolean()).meta({ maxProperties: 32 }),
  gateNames,
  gatesNotTyped,
);
