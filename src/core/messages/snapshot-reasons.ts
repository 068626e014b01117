/**
 * Why an EtcdSnapshot is in its phase: `status.reason`. Like all reasons it is an API: one that is renamed or removed
 * gets a line in CHANGELOG.md.
 */
import { clusterReasons } from "./cluster-reasons.ts";
import type { SnapshotPhase } from "../../api/status-words.ts";

interface SnapshotReasonText {
  readonly phases: readonly SnapshotPhase[];
  /** What is the case. */
  readonly meaning: string;
  /** What a person can do. */
  readonly remedy: string;
}

export const SNAPSHOT_REASONS = {
  Queued: {
    phases: ["Pending"],
    meaning: "Another snapshot of the cluster is being taken; they are taken one at a time.",
    remedy: "Nothing. Delete the EtcdSnapshot to cancel it.",
  },
  NoMember: {
    phases: ["Pending", "Running"],
    meaning: "No voting member of the cluster answers, so there is nothing to take it from.",
    remedy: "See the status of the EtcdCluster. The snapshot is taken as soon as one voting member answers.",
  },
  CertificatePending: {
    phases: ["Pending", "Running"],
    meaning: "The client certificate of the snapshot process has not been issued yet.",
    remedy: "Nothing, unless the cluster is paused: certificates are issued once it is resumed.",
  },
  AuthNeedsCertificate: {
    phases: ["Pending", "Running"],
    meaning:
      "etcd has auth enabled, and clients have no certificates (`spec.tls` of the EtcdCluster: mode `Disabled` for clients, or `clientAuth: None`). The snapshot process logs in by certificate only.",
    remedy:
      "Set `spec.auth.enabled` of the EtcdCluster to false and the snapshot is taken. To have both, give clients TLS and `clientAuth: Required` before auth is enabled; both can be changed on a running cluster.",
  },
  ImageUnknown: {
    phases: ["Pending", "Running", "Deleting"],
    meaning: "The operator does not know its own image, which the Job needs.",
    remedy: "Start the operator with --image, or QUORATE_IMAGE; the installation does.",
  },
  Started: {
    phases: ["Running"],
    meaning: "The Job that takes it waits for its Pod, or runs.",
    remedy: "Nothing. If its Pod cannot start, the message says why.",
  },
  JobRefused: {
    phases: ["Running", "Deleting"],
    meaning: "The Job could not be created: RBAC, an admission policy, a quota, or the API server.",
    remedy: "Resolve what the message says; the operator tries again.",
  },
  Completed: { phases: ["Succeeded"], meaning: "The complete snapshot is in the store.", remedy: "Nothing." },
  DeadlineExceeded: {
    phases: ["Failed"],
    meaning: "It took longer than `spec.activeDeadlineSeconds`.",
    remedy: "See why (the message, the Pod's log), raise the deadline, and create another EtcdSnapshot.",
  },
  JobFailed: {
    phases: ["Failed"],
    meaning: "The Job failed several times; the message has the last error.",
    remedy: "Resolve what the message says, then create another EtcdSnapshot.",
  },
  StoreDenied: {
    phases: ["Failed"],
    meaning: "The store refused the credentials, or they lack a right.",
    remedy: "Correct the Secret or the policy of the bucket, then create another EtcdSnapshot.",
  },
  StoreUnreachable: {
    phases: ["Failed"],
    meaning: "The store could not be reached, or kept failing.",
    remedy: "Check endpoint, DNS and network policies, then create another EtcdSnapshot.",
  },
  StoreMissing: {
    phases: ["Failed"],
    meaning: "The bucket or the directory does not exist.",
    remedy: "Create it, or correct the destination, then create another EtcdSnapshot.",
  },
  StoreFull: {
    phases: ["Failed"],
    meaning: "The store has no space left.",
    remedy: "Free space or prune snapshots, then create another EtcdSnapshot.",
  },
  StoreInvalid: {
    phases: ["Failed"],
    meaning: "The destination cannot be used as it is written.",
    remedy: "Correct what the message names, and create another EtcdSnapshot.",
  },
  InvalidKey: {
    phases: ["Failed"],
    meaning: "The encryption key in the Secret cannot be used.",
    remedy: "Store 32 bytes (raw, hexadecimal or base64) under `key`, then create another EtcdSnapshot.",
  },
  EtcdFailed: {
    phases: ["Failed"],
    meaning: "No member could send its snapshot to the end.",
    remedy: "See the message and the status of the EtcdCluster, then create another EtcdSnapshot.",
  },
  Damaged: {
    phases: ["Failed"],
    meaning:
      "What the member sent is damaged: its hash or its structure is wrong. With `status.uri`: a verification found that the object in the store is damaged.",
    remedy:
      "Check the member's disk, or the store; see whether the EtcdCluster is Corrupt; create another EtcdSnapshot.",
  },
  ObjectMissing: {
    phases: ["Failed"],
    meaning: "A verification found that the object or its manifest is not in the store any more.",
    remedy:
      "Create another EtcdSnapshot; see whether a life-cycle rule of the bucket, or another program, deletes objects.",
  },
  PointUnreachable: {
    phases: ["Failed"],
    meaning:
      "No snapshot and no recorded changes in the destination lead to `spec.pointInTime`; the message says what does.",
    remedy: "Create another EtcdSnapshot with a point that was recorded; `quorate snapshot ls` shows them.",
  },
  ChangesUnusable: {
    phases: ["Failed"],
    meaning:
      "The changes up to `spec.pointInTime` could not be replayed: they are damaged, of another cluster, or did not replay to what was recorded.",
    remedy:
      "See the message. Create another EtcdSnapshot with an earlier point, or restore a snapshot as it is.",
  },
  ReplayVersion: {
    phases: ["Failed"],
    meaning: "Another minor version of etcd wrote the snapshot before `spec.pointInTime`.",
    remedy: "Create another EtcdSnapshot with `spec.pointInTime.etcdVersion` as the message says.",
  },
  DestinationUnsupported: {
    phases: ["Rejected"],
    meaning: "The destination does not exist on this platform, such as `file` on Kubernetes.",
    remedy: "Create another EtcdSnapshot with a destination that the message names.",
  },
  InvalidSnapshot: {
    phases: ["Rejected"],
    meaning: "This release does not understand the spec.",
    remedy: "Upgrade the operator, or create another EtcdSnapshot.",
  },
  ...clusterReasons({
    thing: "snapshot",
    another: "another EtcdSnapshot",
    undone: "nothing can be taken from it",
    deleted: "The cluster is being deleted, or was deleted before the snapshot was taken.",
  }),
  DeletingObject: {
    phases: ["Deleting"],
    meaning: "Its object is being deleted from the store, as `deletionPolicy: Delete` asks.",
    remedy: "Nothing.",
  },
  DeleteFailed: {
    phases: ["Deleting"],
    meaning: "Its object could not be deleted from the store; the operator tries again every ten minutes.",
    remedy: "Resolve what the message says, or set `spec.deletionPolicy: Retain` to keep the object.",
  },
} as const satisfies Readonly<Record<string, SnapshotReasonText>>;

export type SnapshotReason = keyof typeof SNAPSHOT_REASONS;

/** What a Job tells as its reason, if this release knows it. */
export function knownReason(text: string): SnapshotReason | undefined {
  return Object.hasOwn(SNAPSHOT_REASONS, text) ? (text as SnapshotReason) : undefined;
}
