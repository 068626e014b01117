/**
 * EtcdSnapshotSchedule: snapshots of one cluster by the clock, and which of them are kept. Each one is an EtcdSnapshot
 * of its own; deleting the schedule leaves them and their objects alone.
 */
import { z } from "zod";
import { LONGEST_CLUSTER_NAME } from "./etcd-cluster.ts";
import { clusterIsNamed, takingFields } from "./etcd-snapshot.ts";
import { CHANGES_INTERVAL } from "./intervals.ts";
import { API_VERSION, conditionsSchema, metadataSchema, timestamp, type Metadata } from "./metadata.ts";
import { withRules, type Rule } from "./rule.ts";
import { celWhenDurations, duration, int, text, whenDurations } from "./scalars.ts";

/** Snapshots are named `<schedule>-<minutes since 1970>`, some with `-b` after it, and labels hold 63 characters. */
export const LONGEST_SCHEDULE_NAME = 52;

const nameIsShort: Rule<{ metadata: Metadata }> = {
  cel: `size(self.metadata.name) <= ${LONGEST_SCHEDULE_NAME}`,
  fieldPath: ".metadata.name",
  message: `metadata.name may have at most ${LONGEST_SCHEDULE_NAME} characters: the names of snapshots are derived from it`,
  check: ({ metadata }) => metadata.name.length <= LONGEST_SCHEDULE_NAME,
};

const CRON_PATTERN = "^(@[a-zA-Z]+|[0-9a-zA-Z*,/-]+( +[0-9a-zA-Z*,/-]+){4})$";

const cronFormat: Rule<string> = {
  cel: `self.matches('${CRON_PATTERN}')`,
  message:
    "must have five fields (minute, hour, day of the month, month, day of the week) such as 0 3 * * *, or be @hourly, @daily, @weekly, @monthly or @yearly",
  check: (value) => new RegExp(CRON_PATTERN).test(value),
};

const ZONE_PATTERN = "^[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)*$";

const zoneFormat: Rule<string> = {
  cel: `self.matches('${ZONE_PATTERN}')`,
  message: "must be the name of a time zone, such as Europe/Berlin or UTC",
  check: (value) => new RegExp(ZONE_PATTERN).test(value),
};

const PERIODS = ["keepLast", "hourly", "daily", "weekly", "monthly", "yearly"] as const;
const many = (meaning: string) => int(0, 10_000).optional().describe(meaning);

const retentionFields = z.strictObject({
  keepLast: many("Keeps so many of the newest snapshots."),
  hourly: many("Keeps the newest snapshot of each of so many hours that have one."),
  daily: many("Keeps the newest snapshot of each of so many days that have one."),
  weekly: many("Keeps the newest snapshot of each of so many weeks (from Monday on) that have one."),
  monthly: many("Keeps the newest snapshot of each of so many months that have one."),
  yearly: many("Keeps the newest snapshot of each of so many years that have one."),
});

const keepsSomething: Rule<z.output<typeof retentionFields>> = {
  cel: PERIODS.map((period) => `(has(self.${period}) && self.${period} > 0)`).join(" || "),
  message: `keeps nothing: set at least one of ${PERIODS.join(", ")} to more than 0`,
  check: (retention) => PERIODS.some((period) => (retention[period] ?? 0) > 0),
};

const writtenInTime: Rule<string> = {
  cel: celWhenDurations(["self"], "duration(self) >= duration('1s') && duration(self) <= duration('1h')"),
  message: "must be between 1s and 1h",
  check: (interval) => whenDurations([interval], (length) => length >= 1_000 && length <= 3_600_000),
};

const incrementalSchema = z.strictObject({
  interval: withRules(duration(), writtenInTime)
    .optional()
    .describe(
      `How often what has changed is written to the store; what was not written yet is lost with the cluster. ${CHANGES_INTERVAL} if absent.`,
    ),
});

const scheduleSpecFields = z.strictObject({
  cluster: text(LONGEST_CLUSTER_NAME).describe("Name of the EtcdCluster, in the same namespace."),
  schedule: withRules(text(128), cronFormat).describe(
    "When to take a snapshot: the five fields of cron, or @hourly, @daily, @weekly, @monthly, @yearly. A time that a change of the clock skips is taken as much later, one that comes twice is taken once.",
  ),
  timeZone: withRules(text(64), zoneFormat)
    .optional()
    .describe("Time zone of the schedule, such as Europe/Berlin. UTC if absent."),
  ...takingFields,
  retention: withRules(retentionFields, keepsSomething)
    .optional()
    .describe(
      "Which snapshots of this schedule are kept; all if absent. Others are deleted from the store, with their EtcdSnapshots: only those that this schedule took, never the newest one that succeeded, and with verify never the newest one that was found right. Periods are UTC's.",
    ),
  verify: z
    .strictObject({
      schedule: withRules(text(128), cronFormat).describe(
        "When to verify the newest snapshot of this schedule: the five fields of cron, or @hourly, @daily, @weekly, @monthly, @yearly, in the same time zone.",
      ),
    })
    .optional()
    .describe(
      "Restores the newest snapshot at these times into a scratch etcd, in a Pod of its own, and compares it with what was recorded. The condition BackedUp of the EtcdCluster is False while the last verification failed. No snapshot of this schedule is verified if absent.",
    ),
  incremental: incrementalSchema
    .optional()
    .describe(
      "Records every change of the cluster beside the snapshots, so that any revision or time between them can be restored: a Pod of the operator's image follows the cluster and writes to the same store. Where changes cannot be recorded without a gap (users or roles changed, etcd compacted them), a snapshot is taken at once to begin with. Changes that lie before the oldest snapshot in the store are deleted with the snapshot before it.",
    ),
  startingDeadlineSeconds: int(10, 31_536_000)
    .optional()
    .describe(
      "A snapshot that cannot be started within so many seconds of its time is left out, such as while the operator was down. If absent, the last one that was missed is taken as soon as possible.",
    ),
  suspend: z
    .boolean()
    .optional()
    .describe("Takes no further snapshots, records no changes, and deletes none."),
});

const recordedSchema = z.strictObject({
  reason: text(64).describe("Whether changes are recorded, or why not: one word for machines."),
  message: text(1024).describe("The same as a sentence."),
  follower: text(253)
    .optional()
    .describe("Name of the Pod that records them, or on one machine of the process."),
  revision: int(0, Number.MAX_SAFE_INTEGER)
    .optional()
    .describe(
      "Up to this revision the state of the cluster can be restored. It is written about once a minute.",
    ),
  time: timestamp()
    .optional()
    .describe("Up to this time the state of the cluster can be restored. It is written about once a minute."),
  clusterID: text(16).optional().describe("etcd's ID of the cluster whose changes they are, in hexadecimal."),
});

export const etcdSnapshotScheduleStatusSchema = z.strictObject({
  observedGeneration: int(-1, Number.MAX_SAFE_INTEGER)
    .optional()
    .describe("The generation of the spec that this status is about; -1 until the operator has seen it."),
  reason: text(64).optional().describe("Why it takes snapshots or does not: one word for machines."),
  message: text(1024).optional().describe("The same as a sentence."),
  lastScheduled: timestamp().optional().describe("The last time of the schedule that was acted on."),
  lastSuccessful: timestamp().optional().describe("When the newest snapshot that succeeded was started."),
  lastSnapshot: text(253).optional().describe("Name of that EtcdSnapshot."),
  next: timestamp().optional().describe("When the next snapshot is due; absent while suspended."),
  rpo: text(32)
    .optional()
    .describe(
      "Time between the two newest snapshots that succeeded: what a restore would have lost at most.",
    ),
  lastVerified: timestamp().optional().describe("When a snapshot of this schedule was last found right."),
  lastVerifiedSnapshot: text(253).optional().describe("Name of that EtcdSnapshot."),
  rto: text(32)
    .optional()
    .describe("How long it took to restore it, from the first byte read to an etcd that answered."),
  lastVerificationScheduled: timestamp()
    .optional()
    .describe("The last time of spec.verify.schedule that was acted on."),
  nextVerification: timestamp()
    .optional()
    .describe("When the next verification is due; absent while suspended, and without spec.verify."),
  active: text(253).optional().describe("Name of the EtcdSnapshot that is being taken."),
  kept: int(0, Number.MAX_SAFE_INTEGER)
    .optional()
    .describe("How many snapshots of this schedule are in the store."),
  incremental: recordedSchema
    .optional()
    .describe("How far changes are recorded; absent without spec.incremental."),
  conditions: conditionsSchema
    .optional()
    .describe(
      "Ready (snapshots are taken in time), Reconciling, Stalled (a person has to act), and with spec.incremental Following (changes are recorded, up to now).",
    ),
});

export const etcdSnapshotScheduleSchema = withRules(
  z.strictObject({
    apiVersion: z.literal(API_VERSION),
    kind: z.literal("EtcdSnapshotSchedule"),
    metadata: metadataSchema,
    spec: withRules(scheduleSpecFields, clusterIsNamed).describe(
      "When to take snapshots, where to keep them, and for how long.",
    ),
    // Until the operator has written a status, nothing may take the schedule for ready (kstatus would).
    status: etcdSnapshotScheduleStatusSchema
      .optional()
      .meta({ default: { observedGeneration: -1 } })
      .describe("The last and the next snapshot, and conditions."),
  }),
  nameIsShort,
);

export type RecordedChanges = z.output<typeof recordedSchema>;
export type EtcdSnapshotScheduleSpec = z.output<typeof scheduleSpecFields>;
export type EtcdSnapshotScheduleStatus = z.output<typeof etcdSnapshotScheduleStatusSchema>;
export type EtcdSnapshotSchedule = z.output<typeof etcdSnapshotScheduleSchema>;
