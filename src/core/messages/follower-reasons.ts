/** Whether the changes of a cluster are recorded, or why not: `status.incremental.reason` of a schedule. An API. */

export const FOLLOWER_REASONS = {
  Following: {
    meaning: "All changes up to now are in the store, but for those of the last interval.",
    remedy: "Nothing.",
  },
  Starting: { meaning: "The Pod that records changes is being started.", remedy: "Nothing." },
  AwaitingBase: {
    meaning:
      "Changes cannot be recorded without a gap, because there is no snapshot to begin with, users or roles changed, etcd compacted changes before they were received, or what was recorded is damaged. A snapshot is taken at once, and not more than one in five minutes.",
    remedy:
      "Nothing. If it repeats for compacted changes, compact less often than `spec.incremental.interval` (`spec.options.autoCompaction` of the EtcdCluster).",
  },
  Behind: {
    meaning:
      "The store has had no changes for longer than four intervals, and at least two minutes: the follower cannot reach etcd or the store, or the operator cannot reach the follower.",
    remedy: "Resolve what the message says; see the log of the Pod.",
  },
  FollowerFailed: {
    meaning: "The Pod that records changes does not run: its image, its volume, or how it ended last.",
    remedy: "Resolve what the message says. It is restarted automatically.",
  },
  FollowerRefused: {
    meaning: "The Pod that records changes cannot be created, such as for a quota or an admission policy.",
    remedy: "Resolve what the message says. The operator retries at least every five minutes.",
  },
  NotFollowing: {
    meaning:
      "No changes are recorded: the schedule is suspended or invalid, or the cluster is hibernated, does not exist, or has no certificate for it yet.",
    remedy: "Resolve what the message says. What was recorded is kept.",
  },
} as const satisfies Readonly<Record<string, { readonly meaning: string; readonly remedy: string }>>;

export type FollowerReason = keyof typeof FOLLOWER_REASONS;
