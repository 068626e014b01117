/**
 * How a cluster comes to its first data: empty, or from a snapshot. Read once, at the first boot.
 */
import { z } from "zod";
import { encryptionSchema } from "./destination.ts";
import { objectName } from "./labels.ts";
import { restorePointSchema } from "./point-in-time.ts";
import { withRules, type Rule } from "./rule.ts";
import { integerOrText, text } from "./scalars.ts";
import { placeSchema, storeFields } from "./stores.ts";

const keyFormat: Rule<string> = {
  cel: "size(self) > 0 && !self.startsWith('/') && !self.endsWith('/') && !self.contains('//')",
  message:
    "key must name one object in the bucket, like prod/etcd-53a6.db: without a slash at its beginning or end",
  check: (key) => key !== "" && !key.startsWith("/") && !key.endsWith("/") && !key.includes("//"),
};

const pathFormat: Rule<string> = {
  cel: "self.startsWith('/') && !self.endsWith('/') && !self.contains('..')",
  message: "path must be the absolute path of a file, without '..', like /backups/etcd-53a6.db",
  check: (path) => path.startsWith("/") && !path.endsWith("/") && !path.includes(".."),
};

const claimPathFormat: Rule<string> = {
  cel: "size(self) > 0 && !self.startsWith('/') && !self.endsWith('/') && !self.contains('..')",
  message: "path must be the path of a file on the volume, without a slash in front and without '..'",
  check: (path) => path !== "" && !path.startsWith("/") && !path.endsWith("/") && !path.includes(".."),
};

const key = withRules(text(900), keyFormat).describe("Name of the object in it.");

export const sourceSchema = placeSchema(
  {
    s3: z.strictObject({ ...storeFields.s3, key }),
    gcs: z.strictObject({ ...storeFields.gcs, key }),
    azure: z.strictObject({ ...storeFields.azure, key }),
    pvc: z.strictObject({
      ...storeFields.pvc,
      path: withRules(text(512), claimPathFormat).describe("Path of the file on the volume."),
    }),
    file: z.strictObject({
      path: withRules(text(4096), pathFormat).describe("Absolute path of the file."),
    }),
  },
  {
    s3: "An object in Amazon S3 or a compatible store.",
    gcs: "An object in Google Cloud Storage.",
    azure: "A blob in Azure Blob Storage.",
    pvc: "A file on the volume of a PersistentVolumeClaim, which the first member's Pod mounts read-only.",
    file: "A file on this machine. Rejected on Kubernetes: use pvc there.",
  },
);

export const checksumSchema = () => withRules(text(64), checksumFormat);

const checksumFormat: Rule<string> = {
  cel: "self.matches('^[0-9a-f]{64}$')",
  message: "checksum must be a SHA-256 as sha256sum prints it: 64 lower-case hexadecimal digits",
  check: (checksum) => /^[0-9a-f]{64}$/.test(checksum),
};

const bumpFormat: Rule<number | string> = {
  cel: "string(self) == 'Auto' || string(self) == 'None' || (string(self).matches('^[1-9][0-9]{0,14}$'))",
  message: "revisionBump must be Auto, None, or the number of revisions to add, from 1 to 999999999999999",
  check: (bump) => bump === "Auto" || bump === "None" || /^[1-9][0-9]{0,14}$/.test(String(bump)),
};

/** Here and in an EtcdOperation. */
export const POINT_MEANING =
  "The state of a cluster at a revision or a time. An EtcdSnapshot of it is built first, from a snapshot and the recorded changes, and deleted with its object when the restore has ended.";

const restoreFields = z.strictObject({
  snapshot: objectName().optional().meta({
    kubernetesOnly: "refuse",
    description:
      "Name of an EtcdSnapshot in the same namespace that has succeeded. Where it is, its checksum and its encryption key follow from it.",
  }),
  source: sourceSchema.optional().describe("Where the snapshot is, if it is not that of an EtcdSnapshot."),
  pointInTime: restorePointSchema.optional().describe(POINT_MEANING),
  checksum: checksumSchema()
    .optional()
    .describe(
      "SHA-256 of the plain snapshot, before compression and encryption. A snapshot with another one is not restored. The hash in the snapshot itself and its manifest are checked in any case.",
    ),
  encryption: encryptionSchema.optional().meta({
    kubernetesOnly: "warn",
    description:
      "The key of an encrypted snapshot; a snapshot that is not encrypted is then not restored. On one machine the key comes from QUORATE_SNAPSHOT_KEY.",
  }),
  revisionBump: withRules(integerOrText(), bumpFormat)
    .optional()
    .describe(
      "How far to raise the revision, with everything before marked as compacted, so that clients with an open watch see a compaction and read again instead of missing changes. Auto, the default, adds at least 1000000000, and so much that the revision is above that of every cluster that was restored before from an EtcdSnapshot, also from the same one; to a snapshot that is named by source it is added on top of the snapshot's own. None keeps the revision: only for clusters that nothing watches.",
    ),
});

type RestoreFields = z.output<typeof restoreFields>;

/** What names a snapshot, here and in an EtcdOperation. */
type Named = Pick<RestoreFields, "snapshot" | "source" | "pointInTime" | "checksum" | "encryption">;

const oneOrigin: Rule<Named> = {
  cel: "[has(self.snapshot), has(self.source), has(self.pointInTime)].exists_one(given, given)",
  message: "restore must name exactly one of snapshot (an EtcdSnapshot), source (a place) and pointInTime",
  check: ({ snapshot, source, pointInTime }) =>
    [snapshot, source, pointInTime].filter((given) => given !== undefined).length === 1,
};

const snapshotSaysIt: Rule<Named> = {
  cel: "!has(self.snapshot) || (!has(self.checksum) && !has(self.encryption))",
  fieldPath: ".snapshot",
  message: "the EtcdSnapshot says its checksum and its key: remove checksum and encryption",
  check: ({ snapshot, checksum, encryption }) =>
    snapshot === undefined || (checksum === undefined && encryption === undefined),
};

const pointHasNoChecksum: Rule<Named> = {
  cel: "!has(self.pointInTime) || !has(self.checksum)",
  fieldPath: ".checksum",
  message: "the snapshot of a point in time is built first, so its checksum is not known: remove checksum",
  check: ({ pointInTime, checksum }) => pointInTime === undefined || checksum === undefined,
};

const scheduleSaysIt: Rule<Named> = {
  cel: "!has(self.pointInTime) || !has(self.pointInTime.schedule) || !has(self.encryption)",
  fieldPath: ".encryption",
  message: "the EtcdSnapshotSchedule says its key: remove encryption",
  check: ({ pointInTime, encryption }) => pointInTime?.schedule === undefined || encryption === undefined,
};

/** What has to be so of everything that names a snapshot. */
export const NAMED_RULES = [oneOrigin, snapshotSaysIt, pointHasNoChecksum, scheduleSaysIt] as const;

export const restoreSchema = withRules(restoreFields, ...NAMED_RULES);

export const bootstrapSchema = z.strictObject({
  restore: restoreSchema.describe(
    "Start from a snapshot: the first member is restored from it, and the others join.",
  ),
});

export type Restore = z.output<typeof restoreSchema>;
export type RestoreSource = NonNullable<Restore["source"]>;
/** What a member is restored from: where it is is known. */
export type RestoreRecipe = Restore & {
  readonly source: RestoreSource;
  /** Of the snapshot, where it is known before it is read. */
  readonly revision?: number | undefined;
  /** What the revision is raised to at least by `revisionBump: Auto`; settled once, when the member is recorded. */
  readonly raiseTo?: number | undefined;
  /** Asked for by the spec, so that it has to fit the quota; what a recovery or a restore in place begins from is taken. */
  readonly fitsQuota?: boolean | undefined;
};

/** What stands in the way of a restore, as far as code has to tell it. */
export const RESTORE_FAULTS = [
  /** There is no such object or file. */
  "not-found",
  /** There is no such bucket or directory. */
  "no-place",
  /** The store does not let us read it. */
  "denied",
  /** The store does not answer, or the connection broke: tried again by itself. */
  "unreachable",
  /** It is not what its manifest, or the hash in it, says. */
  "damaged",
  /** Its SHA-256 is not the one of the spec. */
  "checksum",
  /** It is encrypted, and no key or another one was given. */
  "key",
  /** Another minor version of etcd wrote it. */
  "version",
  /** There is too little room for it. */
  "space",
  /** The database in it is larger than the quota of the cluster. */
  "quota",
  /** What the spec says cannot be understood. */
  "invalid",
  "failed",
] as const;
export type RestoreFault = (typeof RESTORE_FAULTS)[number];

/** Another attempt may come to something else. */
export const PASSING_FAULTS: ReadonlySet<RestoreFault> = new Set(["unreachable", "failed"]);

interface Restored {
  readonly version: string;
  readonly bootstrap?: { readonly restore: Restore } | undefined;
}

/** R24: 3.4 restores with etcdctl alone, which leaves members behind. */
export const restoreFrom35: Rule<Restored> = {
  cel: "!has(self.bootstrap) || !self.version.matches('^3\\\\.[0-4]\\\\.')",
  fieldPath: ".bootstrap",
  message:
    "etcd 3.4 cannot restore a snapshot safely: set version to 3.5 or later, which restores snapshots of 3.4 too",
  check: ({ bootstrap, version }) => bootstrap === undefined || !/^3\.[0-4]\./.test(version),
};

export const bumpFrom3510: Rule<Restored> = {
  cel: "!has(self.bootstrap) || !self.version.matches('^3\\\\.5\\\\.[0-9]$') || (has(self.bootstrap.restore.revisionBump) && string(self.bootstrap.restore.revisionBump) == 'None')",
  fieldPath: ".bootstrap.restore.revisionBump",
  message:
    "etcd before 3.5.10 cannot raise the revision of a snapshot: set version to 3.5.10 or later, or revisionBump to None",
  check: ({ bootstrap, version }) =>
    bootstrap === undefined || !/^3\.5\.[0-9]$/.test(version) || bootstrap.restore.revisionBump === "None",
};
