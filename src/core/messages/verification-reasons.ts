/**
 * Why the verification of an EtcdSnapshot is in its phase: `status.verification.reason`, and the reason of the condition
 * Verified. Like all reasons it is an API: one that is renamed or removed gets a line in CHANGELOG.md.
 */
import type { VerificationPhase } from "../../api/status-words.ts";

interface VerificationReasonText {
  readonly phases: readonly VerificationPhase[];
  /** What is the case. */
  readonly meaning: string;
  /** What a person can do. */
  readonly remedy: string;
}

const AGAIN = "then ask for another verification with the annotation `etcd.quorate.dev/verify`";

export const VERIFICATION_REASONS = {
  Queued: {
    phases: ["Pending"],
    meaning: "Another snapshot of the cluster is being verified; they are verified one at a time.",
    remedy: "Nothing.",
  },
  ImageUnknown: {
    phases: ["Pending", "Running"],
    meaning: "The operator does not know its own image, which the Job needs.",
    remedy: "Start the operator with --image, or QUORATE_IMAGE; the installation does.",
  },
  Started: {
    phases: ["Running"],
    meaning: "The Job that verifies it waits for its Pod, or runs.",
    remedy: "Nothing. If its Pod cannot start, the message says why.",
  },
  JobRefused: {
    phases: ["Running"],
    meaning: "The Job could not be created: RBAC, an admission policy, a quota, or the API server.",
    remedy: "Resolve what the message says; the operator tries again.",
  },
  Verified: {
    phases: ["Succeeded"],
    meaning: "The snapshot was restored, and revision, keys and hash are as they were recorded.",
    remedy: "Nothing.",
  },
  Damaged: {
    phases: ["Failed"],
    meaning:
      "What is in the store is not what was written there, or what was restored from it differs from what was recorded. The phase of the EtcdSnapshot is Failed from then on.",
    remedy:
      "Do not rely on this snapshot: create another EtcdSnapshot, and look for the cause in the store (its disks, and who can write there).",
  },
  ObjectMissing: {
    phases: ["Failed"],
    meaning:
      "The object or its manifest is not in the store any more. The phase of the EtcdSnapshot is Failed from then on.",
    remedy:
      "Create another EtcdSnapshot; see whether a life-cycle rule of the bucket, or another program, deletes objects.",
  },
  NoSpace: {
    phases: ["Failed"],
    meaning: "The node has not enough ephemeral storage to restore the snapshot.",
    remedy: `Provide a node with room for twice the snapshot, ${AGAIN}.`,
  },
  RestoreFailed: {
    phases: ["Failed"],
    meaning: "etcdutl could not restore the snapshot, or no etcd would start from what it restored.",
    remedy: `See the message and the logs of the Pod's containers, ${AGAIN}.`,
  },
  StoreDenied: {
    phases: ["Failed"],
    meaning: "The store refused the credentials, or they lack the right to read.",
    remedy: `Correct the Secret or the policy of the bucket, ${AGAIN}.`,
  },
  StoreUnreachable: {
    phases: ["Failed"],
    meaning: "The store could not be reached, or kept failing.",
    remedy: `Check endpoint, DNS and network policies, ${AGAIN}.`,
  },
  StoreMissing: {
    phases: ["Failed"],
    meaning: "The bucket or the directory does not exist.",
    remedy: "See who deleted it; the snapshot is gone unless it was copied elsewhere.",
  },
  StoreInvalid: {
    phases: ["Failed"],
    meaning: "The destination cannot be used as it is written.",
    remedy: "Correct what the message names, and create another EtcdSnapshot.",
  },
  InvalidKey: {
    phases: ["Failed"],
    meaning: "The encryption key in the Secret is not the one that the snapshot was encrypted with.",
    remedy: `Restore the key in the Secret, ${AGAIN}. Without it the snapshot cannot be read.`,
  },
  DeadlineExceeded: {
    phases: ["Failed"],
    meaning: "It took longer than `spec.activeDeadlineSeconds`.",
    remedy: `See why (the message, the Pod's logs), ${AGAIN}.`,
  },
  JobFailed: {
    phases: ["Failed"],
    meaning: "The Job failed several times; the message has the last error.",
    remedy: `Resolve what the message says, ${AGAIN}.`,
  },
} as const satisfies Readonly<Record<string, VerificationReasonText>>;

export type VerificationReason = keyof typeof VERIFICATION_REASONS;

/** What a Job tells as its reason, if this release knows it. */
export function knownVerificationReason(text: string): VerificationReason | undefined {
  return Object.hasOwn(VERIFICATION_REASONS, text) ? (text as VerificationReason) : undefined;
}
