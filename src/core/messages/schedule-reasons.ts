/** Why an EtcdSnapshotSchedule takes snapshots or does not: `status.reason`. Like all reasons it is an API. */

interface ScheduleReasonText {
  /** What is the case. */
  readonly meaning: string;
  /** What a person can do. */
  readonly remedy: string;
}

export const SCHEDULE_REASONS = {
  Scheduled: { meaning: "Snapshots are taken by the schedule.", remedy: "Nothing." },
  Missed: {
    meaning:
      "The last snapshot was left out: it could not be started within `spec.startingDeadlineSeconds`, such as while the operator was down.",
    remedy: "Nothing; the next one is taken in time. Raise the deadline if this repeats.",
  },
  SnapshotRefused: {
    meaning:
      "The EtcdSnapshot that is due cannot be created, such as for a quota, an admission policy, or another one of its name. The operator retries at least every five minutes; retention still applies.",
    remedy: "Resolve what the message says.",
  },
  Suspended: {
    meaning: "`spec.suspend` is true: no snapshot is taken and none is deleted.",
    remedy: "Set it to false.",
  },
  InvalidSchedule: {
    meaning: "`spec.schedule` or `spec.timeZone` cannot be read.",
    remedy: "Correct what the message names.",
  },
  ClusterNotFound: {
    meaning: "No EtcdCluster of the name exists in the namespace. Snapshots that were taken are kept.",
    remedy: "Create the cluster, correct `spec.cluster`, or delete the schedule.",
  },
} as const satisfies Readonly<Record<string, ScheduleReasonText>>;

export type ScheduleReason = keyof typeof SCHEDULE_REASONS;
