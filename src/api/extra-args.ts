/**
 * Raw etcd flags, for what the typed options do not cover; and the flags that stay out of reach,
 * because the operator sets them itself or because a typed option exists.
 */
import { z } from "zod";
import { stringMap, text } from "./scalars.ts";
import { withRules, type Rule } from "./rule.ts";

/**
 * Flags that decide identity, membership, addresses, certificates, safety, or what Quorate reads from
 * the log. `max-learners` is here because unequal values split the membership (H1).
 */
const OWNED = [
  "name",
  "data-dir",
  "wal-dir",
  "config-file",
  "advertise-client-urls",
  "initial-advertise-peer-urls",
  "force-new-cluster",
  "strict-reconfig-check",
  "max-learners",
  "experimental-max-learners",
  "cert-file",
  "key-file",
  "ca-file",
  "trusted-ca-file",
  "auto-tls",
  "self-signed-cert-validity",
  "auth-token",
  "auth-token-ttl",
  "v2-deprecation",
  "enable-v2",
  "experimental-enable-v2v3",
  "logger",
  "log-outputs",
  "log-format",
  "log-package-levels",
  "enable-log-rotation",
  "debug",
  "version",
  "help",
];

/** Whole families of such flags, `unsafe-no-fsync` (R25) among them. A reused socket would hide a taken port. */
const OWNED_PREFIXES = [
  "initial-cluster",
  "listen-",
  "discovery",
  "proxy",
  "client-",
  "peer-",
  "experimental-peer-",
  "unsafe-",
  "log-rotation-",
  "socket-reuse-",
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

type Args = Record<string, string>;

const names: Rule<Args> = {
  cel: `self.all(flag, flag.matches('${NAME_PATTERN}'))`,
  message:
    "extraArgs: write flag names as etcd does, in lower case and without the leading dashes, like max-wals",
  check: (args) => Object.keys(args).every((flag) => new RegExp(NAME_PATTERN).test(flag)),
};

/** The culprit is looked for among our constants, not among the given keys, whose length CEL cannot bound. */
const celList = (words: readonly string[]): string => `[${words.map((word) => `'${word}'`).join(", ")}]`;
const firstIn = (words: readonly string[], args: Args): string | undefined =>
  words.find((word) => Object.hasOwn(args, word));
const firstPrefixIn = (prefixes: readonly string[], args: Args): string | undefined =>
  prefixes.find((prefix) => Object.keys(args).some((flag) => flag.startsWith(prefix)));

const notOwned: Rule<Args> = {
  cel: `!${celList(OWNED)}.exists(flag, flag in self)`,
  message: "extraArgs may not set flags that Quorate sets itself: remove them",
  messageExpression: `'extraArgs may not set ' + ${celList(OWNED)}.filter(flag, flag in self)[0] + ': Quorate sets it itself, remove it'`,
  check: (args) => firstIn(OWNED, args) === undefined,
  messageFor: (args) => `extraArgs may not set ${firstIn(OWNED, args)}: Quorate sets it itself, remove it`,
};

const notOwnedFamily: Rule<Args> = {
  cel: `!self.exists(flag, ${celList(OWNED_PREFIXES)}.exists(prefix, flag.startsWith(prefix)))`,
  message: `extraArgs may not set flags that begin with ${OWNED_PREFIXES.join(", ")}: Quorate sets them itself, remove them`,
  check: (args) => firstPrefixIn(OWNED_PREFIXES, args) === undefined,
};

const TYPED_FLAGS = Object.keys(TYPED);
const typedMap = `{${Object.entries(TYPED)
  .map(([flag, option]) => `'${flag}': '${option}'`)
  .join(", ")}}`;

const notTyped: Rule<Args> = {
  cel: `!${celList(TYPED_FLAGS)}.exists(flag, flag in self)`,
  message: "extraArgs may not set flags that have an option of their own: use the field under spec.options",
  messageExpression: `'extraArgs may not set ' + ${celList(TYPED_FLAGS)}.filter(flag, flag in self)[0] + ': use options.' + ${typedMap}[${celList(TYPED_FLAGS)}.filter(flag, flag in self)[0]]`,
  check: (args) => firstIn(TYPED_FLAGS, args) === undefined,
  messageFor: (args) => {
    const flag = firstIn(TYPED_FLAGS, args) ?? "";
    return `extraArgs may not set ${flag}: use options.${TYPED[flag]}`;
  },
};

export const extraArgsSchema = withRules(
  stringMap(32, text(1024)),
  names,
  notOwned,
  notOwnedFamily,
  notTyped,
);

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
