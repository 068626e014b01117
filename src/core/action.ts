/**
 * What may be done: one step per pass. An action names everything its executor needs, so that carrying it
 * out is mechanical, idempotent, and can be written to a log a person reads.
 */
import type { HostPlace } from "./facts/adoption-facts.ts";
import type { AuthorityFacts, Plane, RotationPhase } from "./facts/authority-facts.ts";
import type { AuthObjectStatus } from "../api/auth-object.ts";
import type { RestoreRecipe } from "../api/bootstrap.ts";
import type { EtcdUserStatus } from "../api/etcd-user.ts";
import type { EtcdOperationStatus } from "../api/etcd-operation.ts";
import type { AuthChange, ObjectKind } from "./auth/facts.ts";
import type { Approvable } from "./messages/approvals.ts";
import type { HoldReason } from "./messages/reasons.ts";
import type { StepCode, WaitCode } from "./messages/table.ts";
import type { Instead } from "./facts/operation-facts.ts";
import type { ClusterMarks, MemberRecord } from "./record.ts";
import type { StepClass } from "./steps/step-class.ts";

export type { HoldReason, StepClass, StepCode, WaitCode };

/** A record as it is first written; the platform adds what it owns (uid, resourceVersion, creation time). */
export interface NewMemberRecord extends Omit<MemberRecord, "uid" | "resourceVersion" | "createdAt"> {
  /** The directory that it gets back, with medium HostPath; otherwise it gets one of its own. */
  readonly host?: HostPlace;
}
export type RecordChange = Partial<
  Pick<
    MemberRecord,
    | "memberID"
    | "initialCluster"
    | "volumeUID"
    | "joined"
    | "run"
    | "template"
    | "restart"
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
  /** MemberUpdate, before the member is started so. */
  | {
      readonly kind: "UpdatePeerURL";
      readonly member: string;
      readonly memberID: string;
      readonly peerURL: string;
    }
  | { readonly kind: "Promote"; readonly member: string; readonly memberID: string }
  | { readonly kind: "RemoveFromEtcd"; readonly member: string; readonly memberID: string }
  /** `operation` here and below: the UID of the EtcdOperation that asked for it. */
  | {
      readonly kind: "MoveLeader";
      readonly member: string;
      readonly memberID: string;
      readonly operation?: string;
    }
  | { readonly kind: "Compact"; readonly revision: number; readonly operation?: string }
  | { readonly kind: "Defragment"; readonly member: string; readonly operation?: string }
  | { readonly kind: "Disarm"; readonly alarm: "NOSPACE" | "CORRUPT"; readonly memberID: string }
  | { readonly kind: "CompareHashes" }
  | { readonly kind: "EnableDowngrade"; readonly version: string }
  | { readonly kind: "CancelDowngrade" }
  /** Adds entries to etcd's log that change nothing, until members make a snapshot of it (H5). */
  | { readonly kind: "AdvanceLog"; readonly entries: number }
  /** One entry that changes nothing, for a joiner that waits for any. */
  | { readonly kind: "NudgeLog" }
  /** Makes a snapshot of all that a stopped member's log holds; its directory is only read (R54). */
  | {
      readonly kind: "RescueData";
      readonly member: string;
      readonly volumeUID: string;
      readonly plan: string;
      readonly version: string;
      /** Counts from 1, where a platform remembers the attempts that failed. */
      readonly attempt: number;
      /** What the plan found there. */
      readonly expected: {
        readonly clusterID: string;
        readonly memberID: string;
        readonly term: number;
        readonly index: number;
      };
      readonly operation: string;
    }
  /** Fetches and checks the snapshot of a restore in place; no member is touched. */
  | {
      readonly kind: "FetchSnapshot";
      readonly plan: string;
      readonly restore: RestoreRecipe;
      /** Of the etcd that will run on it. */
      readonly version: string;
      /** Counts from 1, where a platform remembers the attempts that failed. */
      readonly attempt: number;
      readonly operation: string;
    }
  /** Gives a PersistentVolume that outlived its claim a claim of the same name again. */
  | { readonly kind: "BindVolume"; readonly member: string; readonly volume: string; readonly uid: string }
  | { readonly kind: "FinishDeletion" }
  /** Brings the CA of a plane to the next phase of its rotation; `current` is the one that signs before. */
  | {
      readonly kind: "RotateAuthority";
      readonly plane: Plane;
      readonly to: RotationPhase;
      readonly current: string;
      readonly operation?: string;
      /**
       * It leaves the order of phases, or begins because another CA is asked for. Replace: nothing runs, and the one that
       * signs has expired, so that its successor takes its place at once.
       */
      readonly turn?: AuthorityFacts["turn"] | "Replace";
      /** What is begun with was given. */
      readonly successor?: string;
    }
  /** Issues the certificates of a member again, or, without one, those of the operator and of the users. */
  | { readonly kind: "ReissueCertificates"; readonly member?: string; readonly operation: string }
  /** Approves the plan of a recovery from quorum loss, as a person would. */
  | {
      readonly kind: "CreateOperation";
      readonly operation: string;
      readonly approve: string;
      /** What is restored in place instead of recovering from the survivor. */
      readonly restore?: Instead;
    }
  /** Replaces the whole status of an EtcdOperation, under the version that was read. */
  | {
      readonly kind: "UpdateOperation";
      readonly operation: string;
      readonly resourceVersion: string;
      readonly status: EtcdOperationStatus;
      readonly purpose: OperationPurpose;
    }
  /** Its time to live after it finished is over. The UID keeps a namesake that was created meanwhile. */
  | { readonly kind: "DeleteOperation"; readonly operation: string; readonly uid: string }
  /** One call of etcd's authentication. */
  | { readonly kind: "ChangeAuth"; readonly change: AuthChange }
  /** An EtcdUser or EtcdRole, under the version that was read: its status, or that it is applied to etcd. */
  | {
      readonly kind: "UpdateAuthObject";
      readonly of: ObjectKind;
      readonly name: string;
      readonly uid: string;
      readonly resourceVersion: string;
      readonly change:
        | { readonly applied: boolean }
        | { readonly status: AuthObjectStatus & Pick<EtcdUserStatus, "certificate"> };
    };

export type OperationPurpose =
  /** Why it waits. */
  | "wait"
  /** What it will act on, before the first effect. */
  | "start"
  /** What was done. */
  | "step"
  | "succeed"
  | "fail"
  | "reject";

export type RecordPurpose =
  | "permit-start"
  | "rebuild-list"
  | "latch-joined"
  | "roll"
  | "revert"
  | "restart"
  | "retire"
  | "stay"
  | "leave"
  | "hibernate"
  | "wake"
  /** Stopped, so that the data of one of them can be recovered. */
  | "recover";
export type MarkPurpose =
  | "establish"
  | "new-life"
  /** The volumes of a former life are taken; and every one of its members has its record. */
  | "adopt"
  | "adopted"
  | "recover"
  | "remember-member"
  | "remember-batch"
  | "remember-old-log"
  | "close-old-log"
  | "forget-old-log"
  | "target-failed"
  | "forget-failed-target"
  | "note-token-key"
  | "rotate-token-key"
  | "forget-token-key";

/** Why steps wait: a row of the table of messages and its parameters; the words are made when they are shown. */
export interface Wait {
  readonly classes: readonly StepClass[] | "all";
  /** Stable CamelCase word for conditions, metrics and runbooks; several messages may share one. */
  readonly reason: HoldReason;
  readonly code: WaitCode;
  readonly params: object;
  /** It keeps nothing back and is reported all the same: something is not as it should be yet. */
  readonly unfinished?: boolean;
  /** When to look again at the latest; events may come earlier. */
  readonly until?: number;
  /** Only a person can end it: `next` says how. */
  readonly needsPerson: boolean;
  /** The sentence, made from code and parameters. */
  readonly message: string;
  /** What a person should do; undefined when waiting is enough. */
  readonly next: string | undefined;
  /** What a person can approve to end it. */
  readonly approval: Approvable | undefined;
}

export interface Hold extends Wait {
  readonly rule: string;
}

/** A step and why it is taken, as data like a wait. */
export interface Step {
  readonly class: StepClass;
  readonly action: Action;
  readonly code: StepCode;
  readonly params: object;
  /** One sentence: why this, why now. */
  readonly message: string;
}

export interface Act extends Step {
  readonly rule: string;
}

export type Outcome = { readonly act: Step } | { readonly hold: Wait };

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
