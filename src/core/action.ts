/**
 * What may be done: one step per pass. An action names everything its executor needs, so that carrying it
 * out is mechanical, idempotent, and can be written to a log a person reads.
 */
import type { ClusterMarks, MemberRecord } from "./record.ts";

/** A record as it is first written; the platform adds what it owns (uid, resourceVersion, creation time). */
export type NewMemberRecord = Omit<MemberRecord, "uid" | "resourceVersion" | "createdAt">;
export type RecordChange = Partial<
  Pick<
    MemberRecord,
    | "memberID"
    | "initialCluster"
    | "volumeUID"
    | "joined"
    | "run"
    | "template"
    | "retiring"
    | "leaving"
    | "role"
  >
>;

export type Action =
  | { readonly kind: "CreateMember"; readonly member: string; readonly record: NewMemberRecord }
  | {
      readonly kind: "UpdateMember";
      readonly member: string;
      readonly resourceVersion: string;
      readonly change: RecordChange;
      /** What the change is for: the word that plans and transcripts show. */
      readonly purpose: RecordPurpose;
    }
  | { readonly kind: "DeleteMember"; readonly member: string }
  | { readonly kind: "MarkCluster"; readonly change: Partial<ClusterMarks>; readonly purpose: MarkPurpose }
  /** Ends the workload; the platform makes it anew from its record, if the record says run. */
  | { readonly kind: "StopWorkload"; readonly member: string }
  | { readonly kind: "DeleteVolume"; readonly member: string; readonly volumeUID: string }
  | { readonly kind: "AddLearner"; readonly member: string; readonly peerURL: string }
  | { readonly kind: "Promote"; readonly member: string; readonly memberID: string }
  | { readonly kind: "RemoveFromEtcd"; readonly member: string; readonly memberID: string }
  | { readonly kind: "MoveLeader"; readonly member: string; readonly memberID: string }
  | { readonly kind: "Compact"; readonly revision: number }
  | { readonly kind: "Defragment"; readonly member: string }
  | { readonly kind: "Disarm"; readonly alarm: "NOSPACE" | "CORRUPT"; readonly memberID: string }
  | { readonly kind: "CompareHashes" }
  | { readonly kind: "EnableDowngrade"; readonly version: string }
  | { readonly kind: "CancelDowngrade" }
  /** Adds entries to etcd's log that change nothing, until members make a snapshot of it (H5). */
  | { readonly kind: "AdvanceLog"; readonly entries: number }
  /** One entry that changes nothing, for a joiner that waits for any. */
  | { readonly kind: "NudgeLog" }
  | { readonly kind: "FinishDeletion" };

export type RecordPurpose =
  | "permit-start"
  | "rebuild-list"
  | "latch-joined"
  | "roll"
  | "revert"
  | "retire"
  | "stay"
  | "leave"
  | "hibernate"
  | "wake";
export type MarkPurpose =
  | "establish"
  | "new-life"
  | "remember-member"
  | "remember-batch"
  | "remember-old-log"
  | "close-old-log"
  | "forget-old-log"
  | "target-failed"
  | "forget-failed-target";

/**
 * What a step does to the cluster, so that a wait can name what must wait for it.
 * A learner that never catches up holds `join` and `roll`, but not `heal`, `revert` or `shrink`.
 */
export type StepClass =
  | "life"
  | "record"
  | "heal"
  | "revert"
  | "join"
  | "promote"
  | "shrink"
  | "roll"
  | "maintain";

/** Why nothing may happen yet, in words a person can act on. */
export interface Hold {
  readonly rule: string;
  readonly classes: readonly StepClass[] | "all";
  /** Stable CamelCase word for conditions, metrics and runbooks. */
  readonly reason: HoldReason;
  readonly message: string;
  /** It keeps nothing back and is told all the same: something is not as it should be yet. */
  readonly unfinished?: boolean;
  /** When to look again at the latest; events may come earlier. */
  readonly until?: number;
  /** What a person should do; undefined when waiting is enough. */
  readonly next?: string;
}

export type HoldReason =
  | "Paused"
  | "Fenced"
  | "NameClash"
  | "InvalidSpec"
  | "Hibernated"
  | "Stopping"
  | "Resizing"
  | "Waking"
  | "QuorumLost"
  | "DataGone"
  | "Corrupt"
  | "NoSpace"
  | "Booting"
  | "VolumePending"
  | "MemberStarting"
  | "MemberUnhealthy"
  | "MemberUnreachable"
  | "EtcdUnreachable"
  | "MemberWaiting"
  | "LearnerBehind"
  | "RemovalUnsafe"
  | "ReplacementBudget"
  | "ForeignMember"
  | "VersionRefused"
  | "VersionArriving"
  | "VersionMismatch"
  | "OptionRefused"
  | "PodRefused"
  | "PodUnverified"
  | "ObjectRefused"
  | "AuthorityMissing"
  | "CertificateNotIssued"
  | "RecordUnconfirmed"
  | "MarkUnreadable"
  | "TargetFailed"
  | "AwaitingApproval"
  | "DowngradePreparing"
  | "ClusterVersionBehind"
  | "StorageLost"
  | "OutsideWindow"
  | "TooLarge"
  | "NoAddress";

export interface Act {
  readonly rule: string;
  readonly class: StepClass;
  readonly action: Action;
  /** One sentence: why this, why now. */
  readonly reason: string;
}

export type Outcome = { readonly act: Omit<Act, "rule"> } | { readonly hold: Omit<Hold, "rule"> };

export interface Decision {
  /** The one step to carry out now, if any. */
  readonly act?: Act;
  readonly holds: readonly Hold[];
  /** Acts that a hold kept back, in the order of the rules: what happens next once the holds end. */
  readonly heldBack: readonly Act[];
  /** Nothing to do and nothing to wait for: the cluster is as the spec says. */
  readonly converged: boolean;
  /** The earliest time at which looking again can change anything without an event. */
  readonly lookAgainAt?: number;
}
