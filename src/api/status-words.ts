/** Words that machines read: types of conditions, phases and names of operations, which are closed lists. */

/** The conditions of a cluster, in the order in which they are written. */
export const CLUSTER_CONDITIONS = [
  "Ready",
  "Reconciling",
  "Stalled",
  "Available",
  "Degraded",
  "Quorate",
  "TLSReady",
  "AuthReady",
  "SpaceLow",
  "Corrupt",
] as const;
export type ClusterConditionType = (typeof CLUSTER_CONDITIONS)[number];

/** A condition that a cluster has while an EtcdSnapshotSchedule names it. */
export const BACKED_UP = "BackedUp";

/** What a cluster is doing, or why it does nothing: a closed list, for columns and dashboards. */
export const CLUSTER_PHASES = [
  "Creating",
  "Healthy",
  "AddingMember",
  "RemovingMember",
  "RollingOut",
  "RollingBack",
  "Healing",
  "Maintaining",
  "Waiting",
  "Degraded",
  "Stalled",
  "NoQuorum",
  "Unknown",
  "Hibernating",
  "Hibernated",
  "Waking",
  "Paused",
  "Deleting",
] as const;
export type ClusterPhase = (typeof CLUSTER_PHASES)[number];

/** The state of a member. */
export const MEMBER_PHASES = [
  "Pending",
  "Starting",
  "Healthy",
  "Unhealthy",
  "Failed",
  "Stopping",
  "Leaving",
  "Hibernated",
  "Unknown",
] as const;
export type MemberPhase = (typeof MEMBER_PHASES)[number];

/** What became of an operation; the last three are final. */
export const OPERATION_PHASES = ["Pending", "Running", "Succeeded", "Failed", "Rejected"] as const;
export type OperationPhase = (typeof OPERATION_PHASES)[number];

/** What became of a snapshot. */
export const SNAPSHOT_PHASES = ["Pending", "Running", "Succeeded", "Failed", "Rejected", "Deleting"] as const;
export type SnapshotPhase = (typeof SNAPSHOT_PHASES)[number];

/** How far the verification of a snapshot is. */
export const VERIFICATION_PHASES = ["Pending", "Running", "Succeeded", "Failed"] as const;
export type VerificationPhase = (typeof VERIFICATION_PHASES)[number];

/** The fields of an EtcdOperation's spec that name what to do: exactly one of them is set. */
export const OPERATIONS = [
  "defragment",
  "compact",
  "moveLeader",
  "replaceMember",
  "restart",
  "recoverQuorum",
  "restore",
  "rotateCertificates",
  "collectReport",
] as const;
export type OperationName = (typeof OPERATIONS)[number];

/** Those that end a member's data, or give up writes: they ask for a right of their own, beyond that to create operations. */
export const DESTRUCTIVE_OPERATIONS = [
  "replaceMember",
  "recoverQuorum",
  "restore",
] as const satisfies readonly OperationName[];
