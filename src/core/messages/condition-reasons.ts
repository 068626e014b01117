/**
 * The reasons of conditions that are no waits: why a condition is True, False or Unknown. Like all reasons an API: one
 * that is renamed or removed gets a line in CHANGELOG.md.
 */
import type { ClusterConditionType } from "../../api/status-words.ts";
import type { AuthReason } from "./auth-reasons.ts";
import type { FollowerReason } from "./follower-reasons.ts";
import type { OperationReason } from "./operation-reasons.ts";
import type { HoldReason, ReasonText, WORK } from "./reasons.ts";
import type { ScheduleReason } from "./schedule-reasons.ts";
import type { SnapshotReason } from "./snapshot-reasons.ts";
import type { VerificationReason } from "./verification-reasons.ts";

/** Of an EtcdCluster where nothing else is said. */
type ConditionName =
  | ClusterConditionType
  | "BackedUp"
  | "all"
  | "Ready of an EtcdMember"
  | "Issuing of a Certificate";

interface ConditionReasonText extends ReasonText {
  readonly of: readonly ConditionName[];
}

export const CONDITION_REASONS = {
  Converged: {
    of: ["Ready", "Reconciling", "Stalled"],
    meaning: "The cluster matches its spec.",
    remedy: "Nothing.",
  },
  PlatformProblem: {
    of: ["Ready", "Reconciling", "Degraded"],
    meaning:
      "An object could not be applied, or another controller keeps changing a field back. The operator retries.",
    remedy:
      "Resolve what the message names: a quota, an admission policy, missing rights, the other controller.",
  },
  ProgressDeadlineExceeded: {
    of: ["Ready", "Reconciling", "Stalled"],
    meaning: "Nothing has moved for `spec.progressDeadlineSeconds`. The operator still tries.",
    remedy: "Resolve what the message names after `still trying`; run `kubectl etcd why`.",
  },
  OperatorFault: {
    of: ["all"],
    meaning:
      "Internal error of the operator while reconciling this cluster. Running members are unaffected; what was known before is unknown now.",
    remedy: "Undo the last edit, and report the operator's log.",
  },
  Deleting: {
    of: ["Ready", "Available", "Degraded", "Quorate"],
    meaning: "The cluster is being deleted.",
    remedy: "Nothing.",
  },
  Quorum: { of: ["Available", "Quorate"], meaning: "A quorum of voters answers.", remedy: "Nothing." },
  NoQuorum: {
    of: ["Ready", "Available", "Degraded", "Quorate"],
    meaning: "Too few voters answer.",
    remedy:
      "Start the members that the message of `Ready` names. If their data is lost, see the reason `QuorumLost`.",
  },
  AllHealthy: { of: ["Degraded"], meaning: "All members are healthy.", remedy: "Nothing." },
  MemberStarting: {
    of: ["Degraded"],
    meaning: "Members that have not served yet are starting. `Degraded` is False.",
    remedy: "Nothing.",
  },
  MemberRestarting: {
    of: ["Ready", "Degraded"],
    meaning:
      "A member that served before is not serving; its Pod is running, being stopped or being created.",
    remedy: "Nothing, unless it lasts: look at the Pod and the log of the member.",
  },
  MemberDown: {
    of: ["Ready", "Degraded"],
    meaning: "A member is down: it exited, or its Pod cannot start.",
    remedy: "See the message. The member is restarted or replaced unless another reason says why not.",
  },
  Disabled: {
    of: ["TLSReady", "AuthReady"],
    meaning:
      "The spec does not ask for it: `spec.tls` turns encryption off on both planes, or `spec.auth.enabled` is false.",
    remedy: "Nothing.",
  },
  NotObserved: {
    of: ["TLSReady", "AuthReady", "SpaceLow", "Corrupt"],
    meaning:
      "It could not be observed: certificates were not read, no member answers, or there is no quorum.",
    remedy: "See `Quorate`, and its reason.",
  },
  Issued: { of: ["TLSReady"], meaning: "All certificates are issued and in use.", remedy: "Nothing." },
  Expired: {
    of: ["TLSReady"],
    meaning: "A certificate that a member uses has expired.",
    remedy:
      "With mode `Managed`, nothing unless another condition says why it is not renewed, such as `Ready` with the reason `Paused` or `CAExpired`; else renew the certificate that the message names.",
  },
  SecretMissing: {
    of: ["TLSReady"],
    meaning: "A Secret that the spec names does not exist. Members keep the last certificate that passed.",
    remedy: "Create the Secret, or correct the field that the message names.",
  },
  CertificateInvalid: {
    of: ["TLSReady"],
    meaning:
      "A file is missing, the key does not match, the certificate or its CA expired, a usage or name is missing (all missing names are listed), or the operator's certificate has a common name that has no right to administer etcd, with authentication on. Members and operator keep the last certificate that passed.",
    remedy: "Correct the Secret or Certificate as the message says.",
  },
  CertManagerMissing: {
    of: ["TLSReady"],
    meaning: "The API server does not serve cert-manager's Certificates.",
    remedy: "Install cert-manager, or choose another `spec.tls.mode`.",
  },
  CertificatePending: {
    of: ["TLSReady"],
    meaning:
      "cert-manager has not issued a certificate yet, or its Certificate has not been Ready for more than 15 seconds, such as after it was given an issuer that does not exist. Members keep the certificates that they have until those expire, and none is restarted.",
    remedy: "If it lasts, look at the Certificate that the message names and at its issuer.",
  },
  CAChanged: {
    of: ["TLSReady"],
    meaning:
      "A third CA was configured while members are moving to a second one, so that change cannot be finished.",
    remedy: "Put back the certificates of the second CA or of the first one.",
  },
  CertificateProblem: {
    of: ["TLSReady"],
    meaning: "Certificates cannot be issued, read or written, for a reason that the message names.",
    remedy: "Resolve what the message names; the operator retries.",
  },
  RegainingAccess: {
    of: ["AuthReady"],
    meaning:
      "etcd refuses the operator; it gives its user the root role again with a certificate of user root.",
    remedy: "Nothing; if it lasts, see docs/auth.md.",
  },
  Enabling: {
    of: ["AuthReady"],
    meaning: "Users and roles are being prepared in etcd; auth is not enabled yet.",
    remedy: "Nothing.",
  },
  Enabled: { of: ["AuthReady"], meaning: "Auth is enabled in etcd.", remedy: "Nothing." },
  Disabling: { of: ["AuthReady"], meaning: "Auth is being disabled in etcd.", remedy: "Nothing." },
  Applying: {
    of: ["AuthReady"],
    meaning: "Users and roles are being changed in etcd.",
    remedy: "Nothing.",
  },
  Room: {
    of: ["SpaceLow"],
    meaning: "Data and file leave room; the message says below which share of the quota.",
    remedy: "Nothing.",
  },
  DataNearQuota: {
    of: ["SpaceLow"],
    meaning: "The data fills more of the quota than the share that the message names.",
    remedy: "Delete keys, compact more often, or raise `spec.options.quotaBackendBytes`.",
  },
  FileNearQuota: {
    of: ["SpaceLow"],
    meaning:
      "The database file is nearly as large as the quota, although the data is not: the rest is free pages, which etcd counts too.",
    remedy:
      "Nothing with `spec.maintenance.defrag.auto`, which defragments within its window; else create an EtcdOperation `defragment`.",
  },
  NoDifference: {
    of: ["Corrupt"],
    meaning: "No alarm is armed, and the newest comparison of hashes found no difference.",
    remedy: "Nothing.",
  },
  Unreadable: {
    of: ["Ready", "Degraded", "Corrupt"],
    meaning: "The data of a member cannot be read by etcd.",
    remedy: "Nothing, as long as the others have quorum: the member is replaced.",
  },
  SnapshotInTime: {
    of: ["BackedUp"],
    meaning: "The newest snapshot of a schedule is as new as the schedule promises.",
    remedy: "Nothing.",
  },
  SnapshotTooOld: {
    of: ["BackedUp"],
    meaning: "A schedule has missed two times in a row.",
    remedy: "Resolve what the message says of the last one, or see the status of the EtcdSnapshotSchedule.",
  },
  NoSnapshot: {
    of: ["BackedUp"],
    meaning: "A schedule has been due and has no snapshot that succeeded.",
    remedy: "Resolve what the message says of the last one, or see the status of the EtcdSnapshotSchedule.",
  },
  FirstSnapshotPending: {
    of: ["BackedUp"],
    meaning: "The schedule has not been due yet.",
    remedy: "Nothing.",
  },
  VerificationFailed: {
    of: ["BackedUp"],
    meaning: "The newest verified snapshot of a schedule was found to be damaged or different.",
    remedy:
      "Take another snapshot; see `status.verification` of the EtcdSnapshot and [docs/snapshots.md](snapshots.md).",
  },
  Healthy: {
    of: ["Ready of an EtcdMember"],
    meaning: "It answers, follows a leader and, if it votes, serves reads through quorum.",
    remedy: "Nothing.",
  },
  Leaving: {
    of: ["Ready of an EtcdMember"],
    meaning: "It is being removed; the message says why.",
    remedy: "Nothing.",
  },
  NotRunning: {
    of: ["Ready of an EtcdMember"],
    meaning: "It has no Pod or process, or none could be created.",
    remedy: "Resolve what the message names, if anything; else nothing.",
  },
  Waiting: {
    of: ["Ready of an EtcdMember"],
    meaning: "Its Pod cannot start; the message is Kubernetes' own.",
    remedy: "Resolve what the message names: scheduling, image, volume, node.",
  },
  Exited: {
    of: ["Ready of an EtcdMember"],
    meaning: "etcd exited.",
    remedy:
      "See the message and the log. It is restarted or replaced unless a reason of the cluster says why not.",
  },
  NotServing: {
    of: ["Ready of an EtcdMember"],
    meaning: "It answers, and does not serve yet: it has no leader, or has not caught up.",
    remedy: "Nothing, unless the cluster has no quorum.",
  },
  NotAnswering: {
    of: ["Ready of an EtcdMember"],
    meaning: "It is running and does not answer the operator.",
    remedy:
      "If it lasts, see the log of the member; it is replaced unless a reason of the cluster says why not.",
  },
  Unreachable: {
    of: ["Ready of an EtcdMember"],
    meaning: "The operator cannot reach it, but its readiness or its peers say that it serves.",
    remedy: "Check the network between the operator and the member, such as network policies.",
  },
  IssuerChanged: {
    of: ["Issuing of a Certificate"],
    meaning: "The issuer has another CA, so Quorate asks cert-manager to reissue the certificate.",
    remedy: "Nothing.",
  },
} as const satisfies Readonly<Record<string, ConditionReasonText>>;

export type ConditionReason = keyof typeof CONDITION_REASONS;

type WorkReason = (typeof WORK)[keyof typeof WORK]["reason"];

/** What a condition may have as its reason: docs/reasons.md lists all of them. */
export type StatusReason =
  | AuthReason
  | ConditionReason
  | FollowerReason
  | HoldReason
  | OperationReason
  | ScheduleReason
  | SnapshotReason
  | VerificationReason
  | WorkReason;
