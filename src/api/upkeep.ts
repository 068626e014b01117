/**
 * How the cluster is kept in shape over time: maintenance, repair of broken members, updates.
 */
import { z } from "zod";
import { celWhenDurations, duration, int, quantityOrZero, text, whenDurations } from "./scalars.ts";
import { withRules, type Rule } from "./rule.ts";

const startOfDay: Rule<string> = {
  cel: "self.matches('^([01][0-9]|2[0-3]):[0-5][0-9]$')",
  message: "start must be a time of day in UTC with two digits each, like 02:30",
  check: (value) => /^([01][0-9]|2[0-3]):[0-5][0-9]$/.test(value),
};

const windowFields = z.strictObject({
  start: withRules(text(5), startOfDay).describe("When the window opens, in UTC, for example 02:30."),
  duration: duration().describe("How long it stays open, for example 2h."),
  days: z
    .array(z.enum(["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]))
    .min(1)
    .max(7)
    .optional()
    .meta({ "x-kubernetes-list-type": "set" })
    .describe("Days on which it opens. Defaults to every day."),
});

const windowLength: Rule<z.output<typeof windowFields>> = {
  cel: celWhenDurations(
    ["self.duration"],
    "duration(self.duration) >= duration('1m') && duration(self.duration) <= duration('24h')",
  ),
  fieldPath: ".duration",
  message: "the duration of a window must be between 1m and 24h",
  check: (window) => whenDurations([window.duration], (length) => length >= 60_000 && length <= 86_400_000),
};

const windowSchema = withRules(windowFields, windowLength);

const ratio: Rule<number> = {
  cel: "self >= 0.0 && self <= 1.0",
  message: "ratioAbove must be between 0 and 1: the share of the database file that is free, 0.45 for 45 %",
  check: (value) => value >= 0 && value <= 1,
};

const defragSchema = z.strictObject({
  auto: z.boolean().default(true).describe("Defragment a member when both thresholds are exceeded."),
  freeAbove: quantityOrZero()
    .default("100Mi")
    .describe("Defragment only if more than this much of the database file is free."),
  ratioAbove: withRules(z.number(), ratio)
    .default(0.45)
    .describe("Defragment only if more than this share of the database file is free."),
  window: windowSchema
    .optional()
    .describe("Defragment only within this window. A full database (NOSPACE) is defragmented at any time."),
});

const intervalLongEnough: Rule<string> = {
  cel: celWhenDurations(["self"], "duration(self) == duration('0s') || duration(self) >= duration('1m')"),
  message: "interval must be at least 1m, like 1h, or 0s for no hash check",
  check: (value) => whenDurations([value], (interval) => interval === 0 || interval >= 60_000),
};

const hashCheckSchema = z.strictObject({
  interval: withRules(duration(), intervalLongEnough)
    .default("1h")
    .describe("How often to compare the data of all voting members. 0s turns it off."),
});

export const maintenanceSchema = z.strictObject({
  defrag: defragSchema
    .prefault({})
    .describe(
      "Defragmentation, which releases free space in the database file: one member at a time, the leader last.",
    ),
  hashCheck: hashCheckSchema
    .prefault({})
    .describe("Detection of a member whose data differs from the majority."),
  spaceCure: z
    .boolean()
    .default(true)
    .describe(
      "When the quota is exceeded, compact, defragment and disarm the alarm, if the live data leaves room.",
    ),
});

const repairFields = z.strictObject({
  unhealthyAfter: duration()
    .default("2m")
    .describe(
      "After a member has been unhealthy for this long, a change that it may have failed on is rolled back, and a newer change is applied to it immediately.",
    ),
  memberLostAfter: duration()
    .default("5m")
    .describe("A member that has been down for this long is replaced, if the others have a quorum."),
  maxReplacementsPerHour: int(0, 60)
    .default(4)
    .describe(
      "Maximum number of replacements within an hour; further ones wait, because the cause is then likely elsewhere. 0 turns replacement off.",
    ),
});

const lostNotBeforeUnhealthy: Rule<z.output<typeof repairFields>> = {
  cel: celWhenDurations(
    ["self.unhealthyAfter", "self.memberLostAfter"],
    "duration(self.memberLostAfter) >= duration(self.unhealthyAfter)",
  ),
  fieldPath: ".memberLostAfter",
  message:
    "memberLostAfter must not be shorter than unhealthyAfter: raise memberLostAfter or lower unhealthyAfter",
  check: (repair) =>
    whenDurations([repair.unhealthyAfter, repair.memberLostAfter], (unhealthy, lost) => lost >= unhealthy),
};

export const repairSchema = withRules(repairFields, lostNotBeforeUnhealthy);

// Without defaults of the resource definition, which an operator from before these fields would find and reject.
const recoveryFields = z.strictObject({
  quorumLoss: z
    .enum(["Manual", "Automatic"])
    .optional()
    .describe(
      "Who approves the plan in status.recovery when quorum is lost for good. Manual, if absent: a person. Automatic: the operator, if the data of every lost member is proven to be gone for repair.memberLostAfter, at most maxLostRevisions would be lost, and no other recovery began within an hour; else a person.",
    ),
  prefer: z
    .enum(["Survivor", "Snapshot"])
    .optional()
    .describe(
      "What the plan in status.recovery prefers, and Automatic approves first. Survivor, if absent: the data of the member that is left. Snapshot: the newest EtcdSnapshot or recorded change of this cluster, restored in place; if there is none, or Automatic may not take it, the survivor. Either can be approved by the hash of its plan.",
    ),
  maxLostRevisions: int(0, Number.MAX_SAFE_INTEGER)
    .optional()
    .describe(
      "With quorumLoss Automatic: the most revisions that may be lost, of those that the operator saw. 0 if absent. Writes of the last seconds that it had not seen are not counted.",
    ),
});

const boundOfAutomatic: Rule<z.output<typeof recoveryFields>> = {
  cel: "!has(self.maxLostRevisions) || (has(self.quorumLoss) && self.quorumLoss == 'Automatic')",
  fieldPath: ".maxLostRevisions",
  message:
    "maxLostRevisions is used only with quorumLoss Automatic: set recovery.quorumLoss to Automatic or remove it",
  check: ({ quorumLoss, maxLostRevisions }) => maxLostRevisions === undefined || quorumLoss === "Automatic",
};

export const recoverySchema = withRules(recoveryFields, boundOfAutomatic);

export const updateSchema = z.strictObject({
  strategy: z
    .enum(["Rolling", "OnApproval"])
    .default("Rolling")
    .describe(
      "Rolling: changes are rolled out immediately. OnApproval: the status announces a rollout with its hash, and it starts when the annotation etcd.quorate.dev/approve is set to that hash. Repairs and scaling need no approval.",
    ),
  canary: z
    .boolean()
    .default(true)
    .describe(
      "Roll a change out to one member first, and roll it back if that member does not become healthy.",
    ),
  snapshotBefore: z
    .boolean()
    .optional()
    .describe(
      "Before members move to another minor version of etcd, up or down, take a snapshot with the destination of an EtcdSnapshotSchedule of this cluster, and wait until it succeeded. True if absent. Without a schedule that takes snapshots none is taken.",
    ),
});

export type Maintenance = z.output<typeof maintenanceSchema>;
export type MaintenanceWindow = z.output<typeof windowSchema>;
export type Repair = z.output<typeof repairSchema>;
export type Update = z.output<typeof updateSchema>;
