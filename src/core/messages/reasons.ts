/**
 * Every reason to wait, for conditions, events, metrics and runbooks. Reasons are an API: one that is renamed or removed
 * gets a line in CHANGELOG.md.
 */
export interface ReasonText {
  /** What is the case. */
  readonly meaning: string;
  /** What a person can do; for a wait that ends by itself, what ends it. */
  readonly remedy: string;
}

export const REASONS = {
  Paused: {
    meaning: "`spec.paused` is true. The operator reports on the cluster and changes nothing.",
    remedy: "Set `spec.paused` to false. Until then failed members are not replaced.",
  },
  Fenced: {
    meaning: "This controller may no longer act: its lease expired or another replica holds it.",
    remedy:
      "Nothing: the replica that holds the lease continues. If none does, check why the operator's Pods are not ready.",
  },
  NameClash: {
    meaning:
      "An object with a name that the cluster needs exists and belongs to something else. It is never changed.",
    remedy: "Rename or delete that object, or create the cluster under another name.",
  },
  InvalidSpec: {
    meaning:
      "The spec is invalid, so none of it is applied. Members keep running, and failed ones are still replaced.",
    remedy: "Correct the field that the message names.",
  },
  Hibernated: {
    meaning: "`spec.replicas` is 0: all members are stopped, and their data is retained.",
    remedy: "Set `spec.replicas` to 1 or more to wake the cluster with its data.",
  },
  Stopping: {
    meaning: "A Pod or process is being stopped, and the next step needs it to be gone.",
    remedy:
      "Usually nothing. If a Pod hangs in Terminating, check its node; once the node is gone for good, delete the Node object or force-delete the Pod.",
  },
  DataBeingDeleted: {
    meaning:
      "A Pod on the node deletes the HostPath directory of a member that has left, because `storage.retention` is Delete.",
    remedy:
      "Nothing. After 5 minutes the directory is left where it is, and an event names the node, the directory and the cause.",
  },
  Resizing: {
    meaning: "A member gets new CPU or memory resources without a restart.",
    remedy: "Nothing. If the kubelet cannot resize it in place, the member is restarted instead.",
  },
  Waking: {
    meaning: "There is no quorum yet, and enough voters with their data may still come back.",
    remedy: "If it lasts, look at the Pods that the message names.",
  },
  QuorumLost: {
    meaning: "So many voters lost their data that the cluster cannot regain quorum without help.",
    remedy: "Recover from a surviving member, or restore a snapshot.",
  },
  DataGone: {
    meaning:
      "All voters lost their data. The operator never starts an empty cluster in place of one that existed.",
    remedy:
      "Restore a snapshot, or delete the cluster and create it again. If you restored older data by hand, accept it with the approval in the message.",
  },
  Corrupt: {
    meaning: "The data of members differs, or etcd raised a CORRUPT alarm.",
    remedy:
      "A member that differs from the majority is replaced automatically. Where no majority agrees, compare the members' data, keep the right copy, and restore from it or from a verified snapshot.",
  },
  NoSpace: {
    meaning: "The database reached its quota and etcd rejects writes.",
    remedy:
      "Delete keys, or raise `spec.options.quotaBackendBytes`. Old revisions are compacted and members defragmented automatically while `spec.maintenance.spaceCure` is on.",
  },
  Booting: {
    meaning: "The first members of a new cluster are starting.",
    remedy: "If it lasts, look at the Pods that the message names.",
  },
  Adopting: {
    meaning:
      "With `spec.storage.adopt`, the volumes of the former cluster are being read, or something of that cluster is still there. Nothing is started before it is known what each of them holds.",
    remedy: "If it lasts, look at the Pod or the object that the message names.",
  },
  AdoptionRefused: {
    meaning:
      "The volumes that `spec.storage.adopt` asks for are not there, or do not hold what is written on them or what a cluster of this name needs. Nothing was started or changed.",
    remedy:
      "Do what the message says. See [recovery](recovery.md#take-over-the-volumes-of-a-deleted-cluster).",
  },
  Restoring: {
    meaning:
      "The first member of a cluster with `spec.bootstrap.restore` is being restored from its snapshot.",
    remedy: "Nothing. If the store does not answer, it is tried again.",
  },
  RestoreFailed: {
    meaning:
      "The snapshot of `spec.bootstrap.restore` cannot be restored: it does not exist, is damaged, has another checksum, cannot be read, was written by another minor version of etcd, or does not fit. Nothing was started.",
    remedy:
      "Correct the field that the message names, or the snapshot. `spec.bootstrap.restore` can be changed until the cluster has started.",
  },
  RestoreTooLate: {
    meaning:
      "`spec.bootstrap.restore` was added or changed after the cluster had started. It is read once, so the cluster keeps its data.",
    remedy: "Revert the change or remove `spec.bootstrap`. Create another cluster from that snapshot.",
  },
  VolumePending: {
    meaning: "A member cannot start before its volume is bound.",
    remedy: "If it lasts, look at its PersistentVolumeClaim: storage class, quota, topology.",
  },
  MemberStarting: {
    meaning: "A member was started and is not ready yet; the next step waits for it.",
    remedy: "If it lasts, look at its Pod and its log.",
  },
  MemberUnhealthy: {
    meaning:
      "A member is down or does not serve. Steps that need all voters wait until it recovers or is replaced.",
    remedy: "Nothing, if it can recover: otherwise it is replaced after `spec.repair.memberLostAfter`.",
  },
  MemberUnreachable: {
    meaning:
      "The operator cannot reach a member that others report as serving. Such a member is neither replaced nor restarted.",
    remedy:
      "Find what keeps the operator from the member's client port: a NetworkPolicy, a certificate, etcd authentication. The message says how to approve a replacement or restart of it anyway.",
  },
  EtcdUnreachable: {
    meaning: "The operator cannot reach a quorum that others report as serving, so it changes nothing.",
    remedy:
      "Find what keeps the operator from the members' client ports: a NetworkPolicy, a certificate, etcd authentication.",
  },
  LearnerBehind: {
    meaning: "A learner has not caught up with the leader yet, so it cannot be promoted.",
    remedy:
      "Nothing. If it never catches up, writes arrive faster than the member can apply them: look at its disk and network.",
  },
  RemovalUnsafe: {
    meaning: "Removing a member now would cost the quorum.",
    remedy: "Nothing, once enough of the other voters are healthy; look at those that are not.",
  },
  ReplacementBudget: {
    meaning:
      "`spec.repair.maxReplacementsPerHour` is used up: so many members failing is seldom a coincidence.",
    remedy: "Find out why members fail; raise the limit to continue at once.",
  },
  ForeignMember: {
    meaning:
      "etcd lists a member that this cluster did not add. It is left alone and counts in every quorum.",
    remedy: "Remove it with `etcdctl member remove` if it does not belong there.",
  },
  VersionRefused: {
    meaning: "`spec.version` cannot be reached from what the cluster runs, or is not safe to run.",
    remedy: "Set `spec.version` to a version that the message names.",
  },
  VersionArriving: {
    meaning: "The etcd binaries of `spec.version` are being downloaded.",
    remedy: "Nothing.",
  },
  VersionMismatch: {
    meaning: "A member reports another etcd version than its image was to contain.",
    remedy: "Correct `spec.image`, or set `spec.version` to the version that the image contains.",
  },
  OptionRefused: {
    meaning: "An option in the spec is not supported by etcd of `spec.version`.",
    remedy: "Correct or remove the field that the message names.",
  },
  PodRefused: {
    meaning: "The API server rejects the Pod that the spec asks for. Running members are unaffected.",
    remedy: "Correct `spec.pod`, or what rejects it: an admission policy, a quota, RBAC.",
  },
  PodBackOff: {
    meaning:
      "A node evicted or rejected a member's Pod several times in a row, so the next Pod is created after a wait that grows up to 5 minutes.",
    remedy:
      "Relieve the node (memory, disk, taints), or let the member run on another node. The wait ends early with another Pod template, and starts over once the member has been healthy for 10 minutes.",
  },
  PodUnverified: {
    meaning:
      "The API server could not say whether it accepts the new Pod. No member is restarted until it does.",
    remedy: "If it lasts, look at the admission webhook that the message names.",
  },
  TokenKeyMissing: {
    meaning:
      "The Secret with the keys of auth tokens could not be written yet, or belongs to another owner. No member is restarted until it has the key.",
    remedy: "If it lasts, correct what the message names: a quota, RBAC, or an object of the same name.",
  },
  ObjectRefused: {
    meaning: "An object that a member needs was rejected by RBAC, an admission policy or a quota.",
    remedy: "Correct what rejects it; the operator retries, and the member returns with its data.",
  },
  AuthorityMissing: {
    meaning: "The Secret of the certificate authority is missing, so no certificate can be issued.",
    remedy: "Restore the Secret from a backup.",
  },
  CertificateNotIssued: {
    meaning: "A certificate cannot be issued while the operator's clock is wrong.",
    remedy: "Correct the clock of the operator's node (NTP).",
  },
  CertificateNotGiven: {
    meaning:
      "The certificates of a plane come from Secrets that spec.tls names, or from cert-manager, and one of them is missing or cannot be used: its key, its CA, its validity, its usages or its names are wrong, or its issuer does not exist. The message names the field and what is missing.",
    remedy:
      "Correct the Secret or the issuer. Members that run keep the certificates they have; those that wait start as soon as it can be used.",
  },
  RecordUnconfirmed: {
    meaning: "etcd lists a member whose EtcdMember was not found; whether it was deleted is being confirmed.",
    remedy: "Nothing, once the API server answers.",
  },
  MarkUnreadable: {
    meaning: "An annotation in which the operator keeps state has a value that cannot be read.",
    remedy: "Restore its value, or remove the annotation.",
  },
  TargetFailed: {
    meaning: "A member cannot run what the spec asks for. With `spec.update.canary` it was rolled back.",
    remedy: "Correct or revert the edit; the same edit is not tried again.",
  },
  AwaitingSnapshot: {
    meaning: "Members are to move to another minor version of etcd, and a snapshot is taken before.",
    remedy:
      "Nothing while it is taken. If it has not started, or its schedule cannot be used, resolve what the message says; or approve the rollout without a snapshot as it says.",
  },
  SnapshotBeforeFailed: {
    meaning:
      "Members are to move to another minor version of etcd, and the snapshot before that failed. Another one is taken after an hour.",
    remedy:
      "Resolve what the EtcdSnapshot says and delete it; or approve the rollout without a snapshot as the message says.",
  },
  AwaitingApproval: {
    meaning: "`spec.update.strategy` is OnApproval and a rollout is ready.",
    remedy: "Approve it as the message says.",
  },
  DowngradePreparing: {
    meaning: "etcd prepares its storage for an older minor version.",
    remedy: "Nothing.",
  },
  ClusterVersionBehind: {
    meaning: "All members run the new minor version, and etcd has not raised the cluster version yet.",
    remedy: "Nothing.",
  },
  StorageLost: {
    meaning: "The disk or node of a member's volume cannot be reached.",
    remedy:
      "Bring the node or disk back. Otherwise the member is replaced after `spec.repair.memberLostAfter`.",
  },
  OutsideWindow: {
    meaning: "A defragmentation waits for the maintenance window.",
    remedy: "Nothing.",
  },
  TooLarge: {
    meaning: "A database is so far above its quota that a defragmentation would outlast the liveness probe.",
    remedy: "Raise `spec.options.quotaBackendBytes` to the size of the database.",
  },
  VotersFenced: {
    meaning:
      "Every voter that could serve clients is fenced, so the client Service has no endpoint. The members keep running, and etcd keeps its quorum.",
    remedy: "Unfence at least one voter.",
  },
  OperationRunning: {
    meaning: "An EtcdOperation is under way. Rollouts and maintenance wait until it has finished.",
    remedy: "Nothing. Delete the EtcdOperation to stop it after the step under way.",
  },
  OperationFinished: {
    meaning: "An EtcdOperation has finished and is deleted when its `ttlSecondsAfterFinished` has passed.",
    remedy: "Nothing.",
  },
  OperationUnrecorded: {
    meaning:
      "The status of an EtcdOperation cannot be written, so the operation is not carried out. Scaling and rollouts continue.",
    remedy:
      "Read the error: most often the operator lacks a right on `etcdoperations`, or a webhook rejects the write.",
  },
  RotatingCA: {
    meaning:
      "The CA of a plane is being rotated. Members are restarted twice, one at a time; in between, clients get `spec.tls.rotation.soak` to load the new CA and later their new certificate.",
    remedy:
      "Nothing. Clients that do not reload the Secret or files by themselves have to be restarted within that time. If a member is named for long, restart it with an EtcdOperation.",
  },
  CAExpired: {
    meaning:
      "The CA of a plane has expired, so no member, operator or client accepts a certificate of it in a new connection. Connections that are open last until they end. It was not rotated in the last part of its life, because the cluster was paused or hibernated, the operator did not run, or a given CA was not replaced in time.",
    remedy:
      "Hibernate the cluster and wake it again: set `spec.replicas` to 0, wait for the phase `Hibernated`, and set it back. While no member runs, another CA takes the place of the expired one, without a rotation. With `Secrets` and `CertManager`, provide certificates of a valid CA before. Afterwards clients have to load the published CA and certificate again. A cluster with storage `Memory` or `Ephemeral` cannot be hibernated: restore a snapshot into a new one. See [docs/tls.md](tls.md#if-a-ca-has-expired).",
  },
  ChangingTLS: {
    meaning:
      "`spec.tls` was changed on the running cluster. Members are restarted one at a time. Where the change ends something that clients may still use, members serve clients in both ways first, and `spec.tls.transition` says when the old one ends.",
    remedy:
      "Change your clients as the message says, then approve what it names, unless a time was set. To go back, undo the change of `spec.tls`: this is possible at any point.",
  },
  RotatingTokenKey: {
    meaning:
      "The key that members sign auth tokens with is being replaced. Members are restarted one at a time; until the last one has the new key, clients that log in by password may have to log in again when they reach another member.",
    remedy: "Nothing. Clients of etcd log in again by themselves.",
  },
  AuthPending: {
    meaning: "`spec.auth` asks for authentication, and etcd does not have it as described yet.",
    remedy:
      "Correct the field that the message names: a role in `clientRoles` that does not exist, or a Secret without a password. Members that must restart for `spec.auth.token` first do so one at a time. Until then clients work as before.",
  },
  AuthEnabledByHand: {
    meaning:
      "etcd has authentication enabled, and `spec.auth` is absent: it was enabled by hand, or `spec.auth` was removed, which does not disable it. The operator has a user of its own and leaves the others alone.",
    remedy: "Set `spec.auth.enabled` to true to manage it, or to false to disable it.",
  },
  NoAddress: {
    meaning: "There is no free address for another member.",
    remedy: "Free some ports, or choose another port range for this cluster.",
  },
} as const satisfies Readonly<Record<string, ReasonText>>;

export type HoldReason = keyof typeof REASONS;

/** While steps are taken, the reason tells of which class the next one is. */
export const WORK = {
  life: { reason: "LifeCycle", meaning: "The cluster hibernates, wakes or is being deleted." },
  record: { reason: "Recording", meaning: "A fact is recorded before the step that depends on it." },
  heal: {
    reason: "Healing",
    meaning:
      "A failed member is restarted or replaced, an alarm is dealt with, or leadership moves away from a fenced member.",
  },
  revert: {
    reason: "Reverting",
    meaning: "A member is rolled back, or restarts with its recorded template.",
  },
  join: { reason: "Joining", meaning: "Members are created, added to etcd and started." },
  promote: { reason: "Promoting", meaning: "A learner that has caught up becomes a voter." },
  shrink: { reason: "ScalingIn", meaning: "Members are removed because fewer are wanted." },
  roll: { reason: "RollingOut", meaning: "Members get what the spec asks for, one at a time." },
  maintain: { reason: "Maintaining", meaning: "Data is compared or defragmented." },
} as const;
