/**
 * Where snapshots are kept: a folder in exactly one store, with the fields that `quorate snapshot` takes as flags. Shared
 * by every resource that writes snapshots, so that a destination can be copied from one to another.
 */
import { z } from "zod";
import { objectName } from "./labels.ts";
import { withRules, type Rule } from "./rule.ts";
import { text } from "./scalars.ts";
import { pattern, placeSchema, storeFields } from "./stores.ts";

/** The key of a Secret with an encryption key. */
export const ENCRYPTION_KEY = "key";

/** Of printable ASCII without quotes and backslashes, so that what stands in a URI needs no escaping. */
const PATH_PATTERN = "^[A-Za-z0-9!_.*()=@+,:-]+(/[A-Za-z0-9!_.*()=@+,:-]+)*/?$";
const CLIMBS = /(^|\/)\.{1,2}(\/|$)/;

const plainPath: Rule<string> = pattern(
  PATH_PATTERN,
  "must be a path without a slash in front, of letters, digits and -_.!*()=@+,: such as prod/etcd",
);

const staysBelow: Rule<string> = {
  cel: "!self.split('/').exists(part, part == '.' || part == '..')",
  message: "must not contain . or .. as a part: write the path that is meant",
  check: (value) => !CLIMBS.test(value),
};

const path = (longest: number) => withRules(text(longest).min(1), plainPath, staysBelow);

type S3Fields = { sse?: "AES256" | "aws:kms"; kmsKey?: string };

const kmsKeyIsUsed: Rule<S3Fields> = {
  cel: "!has(self.kmsKey) || (has(self.sse) && self.sse == 'aws:kms')",
  fieldPath: ".kmsKey",
  message: "is used only with sse: aws:kms: set that, or remove the key",
  check: ({ sse, kmsKey }) => kmsKey === undefined || sse === "aws:kms",
};

const prefix = path(512)
  .optional()
  .describe("Folder in it, such as prod/etcd. Clusters may share one; object names differ.");

const s3Schema = withRules(
  z.strictObject({
    ...storeFields.s3,
    prefix,
    sse: z.enum(["AES256", "aws:kms"]).optional().describe("Encryption by the store."),
    kmsKey: text(2048).min(1).optional().describe("ID of the KMS key for sse: aws:kms."),
  }),
  kmsKeyIsUsed,
);

const gcsSchema = z.strictObject({
  ...storeFields.gcs,
  prefix,
  kmsKey: text(2048).min(1).optional().describe("Name of the Cloud KMS key for encryption by the store."),
});

const azureSchema = z.strictObject({
  ...storeFields.azure,
  prefix,
  encryptionScope: text(63).min(3).optional().describe("Encryption scope for encryption by the store."),
});

const pvcSchema = z.strictObject({
  ...storeFields.pvc,
  path: path(512).optional().describe("Folder on the volume; it is created. The top if absent."),
});

const absolute: Rule<string> = {
  cel: "self.startsWith('/') && !self.split('/').exists(part, part == '.' || part == '..')",
  message: "must be an absolute path without . and .., such as /var/backups/etcd",
  check: (value) => value.startsWith("/") && !CLIMBS.test(value),
};

const fileSchema = z.strictObject({
  path: withRules(text(1024), absolute).describe("Directory of this machine; it is created."),
});

export const destinationSchema = placeSchema(
  { s3: s3Schema, gcs: gcsSchema, azure: azureSchema, pvc: pvcSchema, file: fileSchema },
  {
    s3: "A bucket of Amazon S3 or of a compatible store.",
    gcs: "A bucket of Google Cloud Storage.",
    azure: "A container of Azure Blob Storage.",
    pvc: "A PersistentVolumeClaim. The volume is mounted by the Job that reads or writes it.",
    file: "A directory of the machine. Only for clusters of `quorate local`; rejected on Kubernetes.",
  },
);

export const encryptionSchema = z.strictObject({
  keySecret: objectName().describe(
    `Name of a Secret whose key \`${ENCRYPTION_KEY}\` has the encryption key: 32 bytes, raw, hexadecimal or base64. Former keys, to read what they have encrypted, may follow in further lines.`,
  ),
});

export type Destination = z.output<typeof destinationSchema>;
