/**
 * Why an EtcdOperation is in its phase: `status.reason`, beside the reasons of waits. Like those it is an API: one that
 * is renamed or removed gets a line in CHANGELOG.md.
 */
import { clusterReasons } from "./cluster-reasons.ts";
import type { OperationPhase } from "../../api/status-words.ts";

interface OperationReasonText {
  readonly phases: readonly OperationPhase[];
  /** What is the case. */
  readonly meaning: string;
  /** What a person can do. */
  readonly remedy: string;
}

export const OPERATION_REASONS = {
  Queued: {
    phases: ["Pending"],
    meaning: "Another operation of the cluster comes first, or the cluster is busy with something else.",
    remedy: "Nothing. Delete the operation to cancel it.",
  },
  Started: {
    phases: ["Running"],
    meaning: "Its steps are under way; `status.steps` lists those that were taken.",
    remedy: "Nothing. Delete the operation to stop it after the step under way.",
  },
  Completed: { phases: ["Succeeded"], meaning: "Everything was done.", remedy: "Nothing." },
  AlreadyLeader: {
    phases: ["Succeeded"],
    meaning: "The member that was to lead already leads.",
    remedy: "Nothing.",
  },
  UnknownOperation: {
    phases: ["Rejected"],
    meaning: "This release does not know the task, or the spec names several.",
    remedy: "Upgrade the operator, or create another operation with exactly one task.",
  },
  UnknownMember: {
    phases: ["Rejected"],
    meaning: "A member that the spec names does not exist, or is being removed.",
    remedy: "List the members, and create another operation with their names.",
  },
  MemberIsLearner: {
    phases: ["Rejected"],
    meaning: "The task needs a voting member: a learner can neither lead nor be defragmented.",
    remedy: "Name voting members, or leave the names out.",
  },
  MemberNotHealthy: {
    phases: ["Rejected", "Failed"],
    meaning: "A member that the task needs is not healthy, or the operator cannot reach it.",
    remedy: "Wait until the member is healthy or replaced, then create another operation.",
  },
  MemberFenced: {
    phases: ["Rejected", "Failed"],
    meaning: "The member that was to lead is fenced, and leadership is kept away from fenced members.",
    remedy: "Unfence the member, then create another operation, or name another one.",
  },
  NoOtherVoter: {
    phases: ["Rejected"],
    meaning: "No other healthy voting member could lead.",
    remedy: "Wait until another voter is healthy, or raise `spec.replicas`.",
  },
  WouldLoseQuorum: {
    phases: ["Rejected"],
    meaning: "So many other voters are down that the task would cost the quorum.",
    remedy: "Wait until the other voters are healthy or replaced, then create another operation.",
  },
  QuorumNotLost: {
    phases: ["Rejected", "Failed"],
    meaning:
      "There is nothing to recover: the cluster has quorum, or enough members still have their data for one.",
    remedy: "Nothing. Members that have their data are started; see the status of the cluster.",
  },
  PlanChanged: {
    phases: ["Rejected", "Failed"],
    meaning:
      "What the members hold is not what the approved plan says any more: one came back, or lost its data. Or, for a restore in place, the cluster was bootstrapped again, `spec.version` was changed, or the EtcdSnapshot was deleted or changed before it was fetched. No data was changed, and the members are started again.",
    remedy:
      "Look at `status.recovery` of the cluster, or at the plan that `quorate restore` shows, and approve the present plan if there is one.",
  },
  NodesDiffer: {
    phases: ["Rejected"],
    meaning:
      "`nodesOff` does not name exactly the nodes that have to be off: a node with a member is silent and not named, or one is named that does not have to be off. The message says which. Nothing was changed.",
    remedy:
      "Name the nodes that are in `status.recovery.nodesOff` of the cluster, or in the message, once you have made sure that they are off; or bring them back.",
  },
  NodeReports: {
    phases: ["Rejected", "Failed"],
    meaning:
      "A node that `nodesOff` names is not off: its kubelet reports, or has reported since the approval, or a member there answers. No data was changed, and members that were stopped are started again.",
    remedy:
      "Nothing, if enough members return for a quorum. Otherwise look at `status.recovery` of the cluster again: a node that is silent again is in its `nodesOff` after 5 minutes.",
  },
  RecoveryNotSupported: {
    phases: ["Rejected"],
    meaning:
      "The members' data is in their Pods and would be lost if they were stopped, or the operator does not know its own image.",
    remedy:
      "Take a snapshot of a member that still runs, and restore it into a new cluster; or start the operator with `--image`.",
  },
  VersionDiffers: {
    phases: ["Rejected", "Failed"],
    meaning:
      "`spec.version` is of another minor version than the data of the survivor, or cannot raise the revision of a snapshot (before 3.5.10). No data was changed.",
    remedy: "Set `spec.version` as the message says, then create another operation.",
  },
  QuorumRecovered: {
    phases: ["Failed"],
    meaning:
      "Quorum was lost while it ran, and the cluster is being recovered or restored by another operation.",
    remedy: "Create another operation once the cluster is healthy, if it is still needed.",
  },
  ApprovalNeeded: {
    phases: ["Rejected"],
    meaning:
      "A restore in place replaces all data, so it runs only if `restore.approve` has the hash of just this plan: this cluster as it lives now, `spec.version`, and this snapshot. The message has the plan and its hash. Nothing was changed.",
    remedy: "Read the plan, then create another operation with that hash, or use `quorate restore`.",
  },
  RestoreNotSupported: {
    phases: ["Rejected", "Failed"],
    meaning:
      "This platform cannot restore this snapshot in place, or not with what a field of the source names; or the data of the members is in their Pods (`Memory`, `Ephemeral`) and none of it could be kept.",
    remedy: "Do what the message says, or create a new cluster with `spec.bootstrap.restore`.",
  },
  SnapshotNotFound: {
    phases: ["Rejected"],
    meaning:
      "`restore.snapshot` names an EtcdSnapshot that does not exist in the namespace, is being deleted, or has not succeeded. Nothing was changed.",
    remedy: "Name an EtcdSnapshot that has succeeded, or wait for it, then create another operation.",
  },
  PointUnavailable: {
    phases: ["Rejected", "Failed"],
    meaning:
      "The snapshot of the point in time that `restore.pointInTime` names cannot be built: there is no such EtcdSnapshotSchedule, the point lies outside of what was recorded, or the changes cannot be used. The message says which. No data was changed.",
    remedy: "Do what the message says, then create another operation.",
  },
  SpecCannotRun: {
    phases: ["Rejected", "Failed"],
    meaning:
      "The restored cluster would not start, because what its spec asks for cannot be run: its version, an option. No data was changed.",
    remedy: "Correct the spec of the cluster as the message says, then create another operation.",
  },
  NothingToCompact: {
    phases: ["Rejected"],
    meaning: "`compact.retain` keeps more revisions than there are.",
    remedy: "Nothing, or retain fewer revisions.",
  },
  RevisionInFuture: {
    phases: ["Rejected"],
    meaning: "`compact.revision` is above the current revision.",
    remedy: "Create another operation with a revision that exists, or with `compact.retain`.",
  },
  RevisionCompacted: {
    phases: ["Rejected"],
    meaning: "The history up to `compact.revision` has already been compacted.",
    remedy: "Nothing.",
  },
  DatabaseTooLarge: {
    phases: ["Rejected", "Failed"],
    meaning:
      "A database is so far above its quota that a defragmentation would outlast the liveness probe. Or the database in the snapshot of a restore is above the quota, so that no write would be accepted after it; no data was changed.",
    remedy:
      "Raise `spec.options.quotaBackendBytes` to the size of the database, then create another operation.",
  },
  NoManagedTLS: {
    phases: ["Rejected", "Failed"],
    meaning:
      "No plane of the cluster has certificates that Quorate issues, so there is nothing to rotate; or `spec.tls` was changed to certificates of another source while a CA was rotated.",
    remedy: "Nothing, or set `spec.tls.mode` to Managed.",
  },
  NoTokenKey: {
    phases: ["Rejected", "Failed"],
    meaning: "Members do not sign auth tokens, so there is no key to replace.",
    remedy: "Nothing, or set `spec.auth.token.type` to JWT.",
  },
  StepFailed: {
    phases: ["Failed"],
    meaning: "A step failed several times in a row; the message has the last error.",
    remedy: "Resolve what the message says, then create another operation.",
  },
  Incomplete: {
    phases: ["Failed"],
    meaning: "Some members were left out; `status.steps` says which and why.",
    remedy: "Create another operation for those members, if they still exist.",
  },
  ...clusterReasons({
    thing: "operation",
    another: "another operation",
    undone: "nothing can be done for it",
    deleted: "The cluster is being deleted.",
  }),
} as const satisfies Readonly<Record<string, OperationReasonText>>;

export type OperationReason = keyof typeof OPERATION_REASONS;
