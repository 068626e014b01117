/**
 * How etcd itself is tuned. Every option is rendered per etcd version, and a change rolls the
 * members one at a time.
 */
import { z } from "zod";
import { extraArgsSchema, featureGatesSchema } from "./extra-args.ts";
import { DURATION_PATTERN, parseDuration } from "./duration.ts";
import { parseQuantity, type Quantity, type QuotaFields } from "./quantity.ts";
import { celWhenDurations, duration, int, integerOrText, quantity, whenDurations } from "./scalars.ts";
import { withRules, type Rule } from "./rule.ts";

const autoCompactionFields = z.strictObject({
  mode: z
    .enum(["Periodic", "Revision"])
    .default("Periodic")
    .describe("Periodic: keep the history of a period of time. Revision: keep a number of revisions."),
  retention: integerOrText()
    .default("10h")
    .describe(
      "How much history to keep: a duration such as 10h or 30m with mode Periodic, a number of revisions with mode Revision. 0 turns automatic compaction off.",
    ),
});

type AutoCompaction = z.output<typeof autoCompactionFields>;

const escapedDuration = DURATION_PATTERN.replaceAll("\\", "\\\\");

const periodicRetention: Rule<AutoCompaction> = {
  cel: `self.mode != 'Periodic' || string(self.retention) == '0' || string(self.retention).matches('${escapedDuration}')`,
  fieldPath: ".retention",
  message:
    "with mode Periodic retention must be a duration with its unit, like 10h or 30m, or 0 for no compaction",
  check: ({ mode, retention }) =>
    mode !== "Periodic" || String(retention) === "0" || parseDuration(String(retention)) !== undefined,
};

const revisionRetention: Rule<AutoCompaction> = {
  cel: "self.mode != 'Revision' || string(self.retention).matches('^[0-9]{1,18}$')",
  fieldPath: ".retention",
  message:
    "with mode Revision retention must be a whole number of revisions, like 10000, or 0 for no compaction",
  check: ({ mode, retention }) => mode !== "Revision" || /^[0-9]{1,18}$/.test(String(retention)),
};

const corruptCheckSchema = z.strictObject({
  initial: z.boolean().default(true).describe("Compare data with the peers at every start, before serving."),
  compactHash: z
    .boolean()
    .default(true)
    .describe("Compare hashes of compacted revisions in the background. Cheap; needs compaction."),
  compactHashTime: duration().default("1m").describe("Interval of the compact-hash check."),
  time: duration()
    .default("0s")
    .describe(
      "Interval of etcd's check of all data. Expensive; 0s turns it off. See also maintenance.hashCheck.",
    ),
});

const optionFields = z.strictObject({
  quotaBackendBytes: quantity()
    .optional()
    .describe(
      "Database size above which etcd raises the NOSPACE alarm. etcd recommends at most 8Gi. Defaults to 2Gi, or to half of storage.size on a volume smaller than 2Gi.",
    ),
  autoCompaction: withRules(autoCompactionFields, periodicRetention, revisionRetention)
    .prefault({})
    .describe("How etcd compacts old revisions."),
  heartbeatInterval: duration()
    .default("100ms")
    .describe("How often the leader sends heartbeats: about the round-trip time between members."),
  electionTimeout: duration()
    .default("1s")
    .describe(
      "How long a follower waits for a heartbeat before it starts an election; ten round trips are usual.",
    ),
  snapshotCount: int(1, 10_000_000)
    .optional()
    .describe(
      "Committed transactions between two raft snapshots. Defaults to the default of the etcd version.",
    ),
  maxRequestBytes: quantity().optional().describe("Largest client request. Defaults to etcd's 1.5 MiB."),
  maxTxnOps: int(1, 100_000)
    .optional()
    .describe("Maximum number of operations in a transaction. Defaults to etcd's 128."),
  maxConcurrentStreams: int(1, 2_147_483_647)
    .optional()
    .describe("Maximum number of concurrent streams per client. Defaults to etcd's default."),
  metrics: z
    .enum(["Basic", "Extensive"])
    .default("Basic")
    .describe("Which metrics etcd exports. Extensive adds gRPC histograms."),
  logLevel: z.enum(["Debug", "Info", "Warn", "Error"]).default("Info").describe("etcd's log level."),
  corruptCheck: corruptCheckSchema.prefault({}).describe("How members check their data against each other."),
  featureGates: featureGatesSchema.default({}).describe("etcd feature gates, supported since etcd 3.6."),
  extraArgs: extraArgsSchema
    .default({})
    .describe(
      "Additional etcd flags by name, without the leading dashes. Flags that Quorate sets itself, and flags that have a field here, are rejected.",
    ),
});

type OptionFields = z.output<typeof optionFields>;

const timings = ["self.heartbeatInterval", "self.electionTimeout"] as const;

const electionTimeoutLongEnough: Rule<OptionFields> = {
  cel: celWhenDurations(
    timings,
    `duration(self.electionTimeout) >= ${Array.from({ length: 5 }, () => "duration(self.heartbeatInterval)").join(" + ")}`,
  ),
  fieldPath: ".electionTimeout",
  message:
    "electionTimeout must be at least 5 times heartbeatInterval (10 times is usual): raise electionTimeout or lower heartbeatInterval",
  check: (options) =>
    whenDurations(
      [options.heartbeatInterval, options.electionTimeout],
      (heartbeat, election) => election >= 5 * heartbeat,
    ),
};

const electionTimeoutShortEnough: Rule<OptionFields> = {
  cel: celWhenDurations([timings[1]], "duration(self.electionTimeout) <= duration('50s')"),
  fieldPath: ".electionTimeout",
  message: "electionTimeout must be at most 50s: etcd refuses to start with more",
  check: (options) => whenDurations([options.electionTimeout], (election) => election <= 50_000),
};

const heartbeatAtLeastAMillisecond: Rule<OptionFields> = {
  cel: celWhenDurations([timings[0]], "duration(self.heartbeatInterval) >= duration('1ms')"),
  fieldPath: ".heartbeatInterval",
  message: "heartbeatInterval must be at least 1ms: etcd counts in whole milliseconds",
  check: (options) => whenDurations([options.heartbeatInterval], (heartbeat) => heartbeat >= 1),
};

export const optionsSchema = withRules(
  optionFields,
  electionTimeoutLongEnough,
  electionTimeoutShortEnough,
  heartbeatAtLeastAMillisecond,
);

export type OptionsSpec = z.output<typeof optionsSchema>;
/** As a member runs with them: what the spec leaves to the size of the volume is worked out. */
export type EtcdOptions = OptionsSpec & { readonly quotaBackendBytes: Quantity };

/** R26: a quota that the volume cannot hold ends in a full disk, which etcd does not survive; NOSPACE it does. */
export const quotaFitsVolume: Rule<QuotaFields> = {
  cel: "self.storage.medium == 'HostPath' || !has(self.options.quotaBackendBytes) || !isQuantity(string(self.storage.size)) || !isQuantity(string(self.options.quotaBackendBytes)) || !quantity(string(self.options.quotaBackendBytes)).isGreaterThan(quantity(string(self.storage.size)))",
  fieldPath: ".storage.size",
  message:
    "storage.size is smaller than options.quotaBackendBytes: make the volume at least twice the quota, because it also holds the write-ahead log and a copy for defragmentation",
  check: ({ options: { quotaBackendBytes }, storage }) => {
    if (storage.medium === "HostPath" || quotaBackendBytes === undefined) return true;
    const [quota, size] = [parseQuantity(quotaBackendBytes), parseQuantity(storage.size)];
    return quota === undefined || size === undefined || quota <= size;
  },
};
