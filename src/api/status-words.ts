/** The words of a status that machines read: types of conditions, and phases, which are closed lists. */

/** The conditions of a cluster, in the order in which they are written. */
export const CLUSTER_CONDITIONS = [
  "Ready",
  "Reconciling",
  "Stalled",
  "Available",
  "Degraded",
  "Quorate",
  "TLSReady",
  "SpaceLow",
  "Corrupt",
] as const;
export type ClusterConditionType = (typeof CLUSTER_CONDITIONS)[number];

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
