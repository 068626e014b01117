/**
 * Where snapshots are kept: exactly one store, with the fields that `quorate snapshot` takes as flags. Shared by every
 * resource that writes or reads snapshots, so that a destination can be copied from one to another.
 */
import { z } from "zod";
import { objectName } from "./labels.ts";
import { withRules, type Rule } from "./rule.ts";
import { text } from "./scalars.ts";

/** The keys of a Secret with credentials: the names of AWS's own variables. */
export const CREDENTIAL_KEYS = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"] as const;
/** Only temporary credentials have it. */
export const OPTIONAL_CREDENTIAL_KEY = "AWS_SESSION_TOKEN";
/** The key of a Secret with CA certificates. */
export const CA_KEY = "ca.crt";
/** The key of a Secret with an encryption key. */
export const ENCRYPTION_KEY = "key";

const BUCKET_PATTERN = "^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$";
const REGION_PATTERN = "^[a-z0-9-]+$";
const ENDPOINT_PATTERN = "^https?://[^/?#]+(/[^?#]*)?$";
/** Of printable ASCII without quotes and backslashes, so that what stands in a URI needs no escaping. */
const PATH_PATTERN = "^[A-Za-z0-9!_.*()=@+,:-]+(/[A-Za-z0-9!_.*()=@+,:-]+)*/?$";
const CLIMBS = /(^|\/)\.{1,2}(\/|$)/;

function pattern(expression: string, message: string): Rule<string> {
  return {
    cel: `self.matches('${expression}')`,
    message,
    check: (value) => new RegExp(expression).test(value),
  };
}

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

const s3Schema = withRules(
  z.strictObject({
    bucket: withRules(
      text(63),
      pattern(
        BUCKET_PATTERN,
        "must be the name of a bucket: 3 to 63 lower-case letters, digits, dots and dashes",
      ),
    ).describe("Name of the bucket. It has to exist."),
    prefix: path(512)
      .optional()
      .describe("Folder in the bucket, such as prod/etcd. Clusters may share one; object names differ."),
    endpoint: withRules(
      text(512),
      pattern(ENDPOINT_PATTERN, "must be a URL such as https://minio.example.com:9000, without a query"),
    )
      .optional()
      .describe("URL of a compatible store. Amazon S3 if absent."),
    region: withRules(text(64), pattern(REGION_PATTERN, "must be the name of a region, such as eu-central-1"))
      .optional()
      .describe("Region of the bucket; us-east-1 if absent and the environment names none."),
    pathStyle: z
      .boolean()
      .optional()
      .describe("Bucket in the path instead of the host name; true if absent and endpoint is set."),
    credentialsSecret: objectName()
      .optional()
      .describe(
        `Name of a Secret with the keys ${CREDENTIAL_KEYS.join(" and ")}, and ${OPTIONAL_CREDENTIAL_KEY} for temporary ones. If absent, the identity of the service account is used (IRSA, Pod Identity).`,
      ),
    caSecret: objectName()
      .optional()
      .describe(`Name of a Secret whose key ${CA_KEY} has the CA certificates of the endpoint.`),
    sse: z.enum(["AES256", "aws:kms"]).optional().describe("Encryption by the store."),
    kmsKey: text(2048).min(1).optional().describe("ID of the KMS key for sse: aws:kms."),
  }),
  kmsKeyIsUsed,
);

const pvcSchema = z.strictObject({
  claimName: objectName().describe("Name of a PersistentVolumeClaim in the same namespace."),
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

type Stores = { s3?: object; pvc?: object; file?: object };

const exactlyOneStore: Rule<Stores> = {
  cel: "[has(self.s3), has(self.pvc), has(self.file)].exists_one(given, given)",
  message: "set exactly one of s3, pvc, file",
  check: ({ s3, pvc, file }) => [s3, pvc, file].filter((given) => given !== undefined).length === 1,
};

export const destinationSchema = withRules(
  z.strictObject({
    s3: s3Schema.optional().describe("A bucket of Amazon S3 or of a compatible store."),
    pvc: pvcSchema
      .optional()
      .meta({ kubernetesOnly: "refuse" })
      .describe("A PersistentVolumeClaim. The volume is mounted by the Job that reads or writes it."),
    file: fileSchema
      .optional()
      .describe("A directory of the machine. Only for clusters of `quorate local`; rejected on Kubernetes."),
  }),
  exactlyOneStore,
);

export const encryptionSchema = z.strictObject({
  keySecret: objectName().describe(
    `Name of a Secret whose key \`${ENCRYPTION_KEY}\` has the encryption key: 32 bytes, raw, hexadecimal or base64.`,
  ),
});

export type Destination = z.output<typeof destinationSchema>;
export type S3Destination = z.output<typeof s3Schema>;
