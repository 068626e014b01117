/**
 * EtcdSnapshot: one snapshot of one cluster, taken once. It outlives its cluster: what it describes is in a store, and
 * can be restored when nothing else is left.
 */
import { z } from "zod";
import { destinationSchema, encryptionSchema } from "./destination.ts";
import { CLUSTER_NAME_PATTERN, LONGEST_CLUSTER_NAME } from "./etcd-cluster.ts";
import { objectName } from "./labels.ts";
import { API_VERSION, conditionsSchema, metadataSchema, timestamp } from "./metadata.ts";
import { pointSchema } from "./point-in-time.ts";
import { withRules, type Rule } from "./rule.ts";
import { int, text } from "./scalars.ts";
import { SNAPSHOT_PHASES, VERIFICATION_PHASES } from "./status-words.ts";

/** What a snapshot and a schedule of snapshots say alike about how one is taken. */
export const takingFields = {
  destination: destinationSchema.describe("The store that the snapshot is written to."),
  compression: z
    .enum(["None", "Zstd"])
    .optional()
    .describe("None if absent: then the object is the very file that `etcdctl snapshot save` writes."),
  encryption: encryptionSchema
    .optional()
    .describe(
      "Encrypts the snapshot with AES-256-GCM before it leaves the Pod. Without the key it cannot be read.",
    ),
  serviceAccountName: objectName()
    .optional()
    .describe(
      "Service account of the Pods that read and write the store, for IRSA, Pod Identity or workload identity. If absent, quorate-snapshot, which is created without any rights. No token of Kubernetes is mounted either way.",
    )
    .meta({ kubernetesOnly: "warn" }),
  activeDeadlineSeconds: int(60, 604_800)
    .optional()
    .describe("After so many seconds an attempt is stopped and the snapshot has failed; 21600 if absent."),
};

const snapshotSpecFields = z.strictObject({
  cluster: text(LONGEST_CLUSTER_NAME).describe("Name of the EtcdCluster, in the same namespace."),
  ...takingFields,
  pointInTime: pointSchema
    .optional()
    .describe(
      "Builds the snapshot of a point in time instead of taking one of the cluster, which does not have to exist any more: from a snapshot in the destination, and the changes that a schedule with incremental (or `quorate snapshot follow`) has recorded there. The result is an ordinary snapshot in the same folder, to be restored by its name.",
    ),
  verify: z
    .boolean()
    .optional()
    .describe(
      "Restores the snapshot once it is taken, into a scratch etcd of its version in a Pod of its own, and compares revision, keys and hash with what was recorded. True if absent. The node needs twice the size of the snapshot as ephemeral storage meanwhile. This field may be changed. The annotation etcd.quorate.dev/verify asks for another verification with each new value.",
    ),
  deletionPolicy: z
    .enum(["Retain", "Delete"])
    .optional()
    .describe(
      "What happens to the object in the store when this EtcdSnapshot is deleted. Retain if absent. This field may be changed.",
    ),
});

type SnapshotSpecFields = z.output<typeof snapshotSpecFields>;

export const clusterIsNamed: Rule<{ cluster: string }> = {
  cel: `self.cluster.matches('${CLUSTER_NAME_PATTERN}')`,
  fieldPath: ".cluster",
  message:
    "must be the name of an EtcdCluster: lower-case letters, digits and dashes, starting with a letter and ending with a letter or digit",
  check: ({ cluster }) => new RegExp(CLUSTER_NAME_PATTERN).test(cluster),
};

const KEPT = [
  "cluster",
  "destination",
  "compression",
  "encryption",
  "serviceAccountName",
  "activeDeadlineSeconds",
  "pointInTime",
] as const satisfies (keyof SnapshotSpecFields)[];

const restIsKept: Rule<SnapshotSpecFields> = {
  cel: KEPT.map(
    (field) =>
      `has(self.${field}) == has(oldSelf.${field}) && (!has(self.${field}) || self.${field} == oldSelf.${field})`,
  ).join(" && "),
  message:
    "only deletionPolicy and verify of an EtcdSnapshot can be changed, because the snapshot may already be taken: delete it and create another one",
  check: (spec, old) =>
    old === undefined || KEPT.every((field) => sorted(spec[field]) === sorted(old[field])),
  transition: true,
};

/** The same text for the same values, in whatever order their fields are written. */
function sorted(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) =>
    typeof part === "object" && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
}

const count = (meaning: string) => int(0, Number.MAX_SAFE_INTEGER).optional().describe(meaning);

/** What is known of a snapshot that was taken, as its manifest in the store says it. */
export const snapshotFactsFields = {
  uri: text(2048)
    .optional()
    .describe(
      "Where the object is: s3://bucket/name, gs://bucket/name, azblob://container/name, pvc://claim/name, file:///path.",
    ),
  size: count("Bytes of the snapshot, before compression and encryption."),
  storedSize: count("Bytes of the object in the store."),
  sha256: text(64).optional().describe("SHA-256 of the snapshot, in hexadecimal."),
  revision: count("The revision of the snapshot, as `etcdutl snapshot status` prints it."),
  totalKeys: count("How many keys it holds; absent where there are too many to count while streaming."),
  etcdVersion: text(32).optional().describe("Version of the member that it was taken from."),
  clusterID: text(16).optional().describe("etcd's ID of the cluster, in hexadecimal."),
  takenFrom: text(253).optional().describe("Name of the member that it was taken from."),
};

const verificationSchema = z.strictObject({
  request: text(253).describe(
    "What asked for it: spec, or the value of the annotation etcd.quorate.dev/verify.",
  ),
  phase: z
    .enum(VERIFICATION_PHASES)
    .describe(
      "Pending: it waits. Running: the snapshot is being restored and compared. Succeeded: it can be restored. Failed: it is damaged, or could not be verified; the reason says which.",
    ),
  reason: text(64).describe("Why it is in this phase: one word for machines."),
  message: text(1024).describe("Why it is in this phase, as a sentence."),
  attempt: count("How many verifications of this snapshot were started."),
  startedAt: timestamp().optional().describe("When it was started."),
  completedAt: timestamp().optional().describe("When it ended."),
});

export const etcdSnapshotStatusSchema = z.strictObject({
  observedGeneration: int(-1, Number.MAX_SAFE_INTEGER)
    .optional()
    .describe("The generation of the spec that this status is about; -1 until the operator has seen it."),
  phase: z
    .enum(SNAPSHOT_PHASES)
    .optional()
    .describe(
      "Pending: it waits. Running: it is being taken. Succeeded: the complete snapshot is in the store. Failed and Rejected: there is none, or a verification found it damaged. Deleting: its object is being deleted.",
    ),
  reason: text(64).optional().describe("Why it is in this phase: one word for machines."),
  message: text(1024).optional().describe("Why it is in this phase, as a sentence."),
  clusterUID: text(64)
    .optional()
    .describe("UID of the EtcdCluster that it is taken of, as settled when it started."),
  job: text(63).optional().describe("Name of the Job that takes it."),
  startedAt: timestamp().optional().describe("When it was started."),
  completedAt: timestamp().optional().describe("When it succeeded, failed or was rejected."),
  ...snapshotFactsFields,
  verification: verificationSchema.optional().describe("The progress of its verification, or its result."),
  verifiedAt: timestamp().optional().describe("When it was last restored and found right."),
  rto: text(32)
    .optional()
    .describe("How long that restore took, from the first byte read to an etcd that answered."),
  conditions: conditionsSchema
    .optional()
    .describe(
      "Ready (it is in the store), Reconciling (it waits, runs or is being deleted), Stalled (it failed or was rejected), and once a verification was asked for, Verified (it was restored and found right).",
    ),
});

export const etcdSnapshotSchema = z.strictObject({
  apiVersion: z.literal(API_VERSION),
  kind: z.literal("EtcdSnapshot"),
  metadata: metadataSchema,
  spec: withRules(snapshotSpecFields, clusterIsNamed, restIsKept).describe(
    "What to take, and where to keep it.",
  ),
  // Until the operator has written a status, nothing may take the snapshot for finished (kstatus would).
  status: etcdSnapshotStatusSchema
    .optional()
    .meta({ default: { observedGeneration: -1 } })
    .describe("Phase and result of the snapshot."),
});

export type SnapshotVerification = z.output<typeof verificationSchema>;
export type EtcdSnapshotSpec = z.output<typeof snapshotSpecFields>;
export type EtcdSnapshotStatus = z.output<typeof etcdSnapshotStatusSchema>;
export type EtcdSnapshot = z.output<typeof etcdSnapshotSchema>;
