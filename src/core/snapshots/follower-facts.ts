/** What was seen of the followers of a schedule with `spec.incremental`: Pods, or processes on one machine. Facts only. */

/** What a follower tells of itself. */
export interface FollowReport {
  /** awaits-base: it cannot continue without a new snapshot. */
  readonly state: "starting" | "following" | "awaits-base";
  /** Why it awaits one. */
  readonly needs?: "none" | "auth" | "compacted" | "gap" | "damaged";
  /** etcd's ID of the cluster. */
  readonly clusterID?: string;
  /** Everything up to here is in the store, and nothing else had been received at this time (ISO 8601). */
  readonly revision?: number;
  readonly time?: string;
  /** What it tries again. */
  readonly problem?: string;
}

export type FollowerState =
  /** `why`: what keeps it from running, if anything. */
  | { readonly is: "waiting"; readonly why?: string }
  /** `report` is absent where it does not answer, `forMs` where nobody knows since when it runs. */
  | { readonly is: "running"; readonly report?: FollowReport; readonly forMs?: number }
  /** For good: nobody starts it again. `forMs`: since then, and `ranMs`: before, where it is known. */
  | { readonly is: "ended"; readonly why: string; readonly forMs?: number; readonly ranMs?: number };

export interface FollowerFacts {
  readonly name: string;
  readonly uid: string;
  /** Tells what it was made from: for another recipe there is another follower. */
  readonly recipe: string;
  /** From 1 on. */
  readonly attempt: number;
  /** For how long it has been stopping. */
  readonly stoppingMs?: number;
  readonly state: FollowerState;
}
