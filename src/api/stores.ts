/**
 * The stores that snapshots are kept in, and how each is reached: one schema for what is written to (a folder) and what
 * is read from (an object), so that the fields of a destination can be copied into a source. Credentials are only ever
 * named by their Secrets.
 */
import { z } from "zod";
import { objectName } from "./labels.ts";
import { withRules, type Rule } from "./rule.ts";
import { text } from "./scalars.ts";

/** The keys of a Secret with credentials of S3: the names of AWS's own variables. */
export const S3_KEYS = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"] as const;
/** Only temporary credentials have it. */
export const S3_OPTIONAL_KEY = "AWS_SESSION_TOKEN";
/** The key of a Secret with the key file of a Google service account. */
export const GCS_KEY = "credentials.json";
/** The keys of a Secret with credentials of an Azure storage account, one of which it has: Azure's own variables. */
export const AZURE_KEYS = ["AZURE_STORAGE_KEY", "AZURE_STORAGE_SAS_TOKEN"] as const;
/** The key of a Secret with CA certificates. */
export const CA_KEY = "ca.crt";

export function pattern(expression: string, message: string): Rule<string> {
  return {
    cel: `self.matches('${expression}')`,
    message,
    check: (value) => new RegExp(expression).test(value),
  };
}

const ENDPOINT = pattern(
  "^https?://[^/?#@ ]+(/[^?# ]*)?$",
  "endpoint must be a URL such as https://minio.example.com:9000, without a user and without a query",
);

const ORIGIN = pattern(
  "^https?://[^/?#@ ]+/?$",
  "endpoint must be a URL with a host and nothing behind it, such as https://storage.example.com",
);

const endpoint = (format: Rule<string>, meaning: string) =>
  withRules(text(512), format).optional().describe(meaning);

const credentialsSecret = (keys: string, otherwise: string) =>
  objectName()
    .optional()
    .meta({
      kubernetesOnly: "warn",
      description: `Name of a Secret with ${keys}. If absent, ${otherwise}; on one machine the credentials of the environment.`,
    });

const caSecret = () =>
  objectName()
    .optional()
    .meta({
      kubernetesOnly: "warn",
      description: `Name of a Secret whose key ${CA_KEY} has the CA certificates of the endpoint.`,
    });

const s3Fields = {
  bucket: withRules(
    text(63),
    pattern(
      "^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$",
      "bucket must be the name of a bucket, without s3:// and without a path: 3 to 63 lower-case letters, digits, dots and dashes",
    ),
  ).describe("Name of the bucket. It has to exist."),
  endpoint: endpoint(ENDPOINT, "URL of a compatible store. Amazon S3 if absent."),
  region: withRules(
    text(64),
    pattern("^[a-z0-9-]+$", "region must be the name of a region, such as eu-central-1"),
  )
    .optional()
    .describe("Region of the bucket; us-east-1 if absent and the environment names none."),
  pathStyle: z
    .boolean()
    .optional()
    .describe("Bucket in the path instead of the host name; true if absent and endpoint is set."),
  credentialsSecret: credentialsSecret(
    `the keys ${S3_KEYS.join(" and ")}, and ${S3_OPTIONAL_KEY} for temporary ones`,
    "the identity of the Pod's service account is used (IRSA, Pod Identity)",
  ),
  caSecret: caSecret(),
};

const gcsFields = {
  bucket: withRules(
    text(222),
    pattern(
      "^[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]$",
      "bucket must be the name of a bucket, without gs:// and without a path: lower-case letters, digits, dots, dashes and underscores",
    ),
  ).describe("Name of the bucket. It has to exist."),
  endpoint: endpoint(ORIGIN, "URL of another endpoint than Google's own."),
  credentialsSecret: credentialsSecret(
    `the key ${GCS_KEY}: the key file of a service account, as JSON`,
    "the identity of the Pod's service account is used (workload identity of GKE)",
  ),
  caSecret: caSecret(),
};

const azureFields = {
  account: withRules(
    text(24),
    pattern(
      "^[a-z0-9]{3,24}$",
      "account must be the name of a storage account: 3 to 24 lower-case letters and digits",
    ),
  ).describe("Name of the storage account."),
  container: withRules(
    text(63).min(3),
    pattern(
      "^[a-z0-9]+(-[a-z0-9]+)*$",
      "container must be the name of a container: 3 to 63 lower-case letters, digits and single dashes",
    ),
  ).describe("Name of the container. It has to exist."),
  endpoint: endpoint(
    ENDPOINT,
    "URL of the account's blob service. https://<account>.blob.core.windows.net if absent; other clouds and Azurite need it.",
  ),
  credentialsSecret: credentialsSecret(
    `the key ${AZURE_KEYS[0]} (a key of the account) or ${AZURE_KEYS[1]} (a shared access signature)`,
    "the identity of the Pod's service account is used (Microsoft Entra Workload ID: the Pod gets the label azure.workload.identity/use)",
  ),
  caSecret: caSecret(),
};

const claimFields = {
  claimName: objectName().describe("Name of a PersistentVolumeClaim in the same namespace."),
};

/** How each store is reached, whatever is written or read there. */
export const storeFields = { s3: s3Fields, gcs: gcsFields, azure: azureFields, pvc: claimFields } as const;

export const STORES = ["s3", "gcs", "azure", "pvc", "file"] as const;
export type StoreKind = (typeof STORES)[number];

const exactlyOne: Rule<Partial<Record<StoreKind, unknown>>> = {
  cel: `[${STORES.map((store) => `has(self.${store})`).join(", ")}].exists_one(given, given)`,
  message: `set exactly one of ${STORES.join(", ")}`,
  check: (place) => STORES.filter((store) => place[store] !== undefined).length === 1,
};

/** A place in exactly one store; what is given of each store has its `storeFields`. */
export function placeSchema<
  S3 extends z.ZodType,
  Gcs extends z.ZodType,
  Azure extends z.ZodType,
  Pvc extends z.ZodType,
  File extends z.ZodType,
>(
  stores: { s3: S3; gcs: Gcs; azure: Azure; pvc: Pvc; file: File },
  words: Readonly<Record<StoreKind, string>>,
) {
  const fields = z.strictObject({
    s3: stores.s3.optional().describe(words.s3),
    gcs: stores.gcs.optional().describe(words.gcs),
    azure: stores.azure.optional().describe(words.azure),
    pvc: stores.pvc.optional().meta({ kubernetesOnly: "refuse", description: words.pvc }),
    file: stores.file.optional().describe(words.file),
  });
  return withRules(fields, exactlyOne as Rule<z.output<typeof fields>>);
}

type Fields<T extends z.ZodRawShape> = Readonly<z.output<z.ZodObject<T, z.core.$strict>>>;

/** Where snapshots are, as far as it is the same for a folder and an object. */
export interface StorePlace {
  readonly s3?: Fields<typeof s3Fields> | undefined;
  readonly gcs?: Fields<typeof gcsFields> | undefined;
  readonly azure?: Fields<typeof azureFields> | undefined;
  readonly pvc?: Fields<typeof claimFields> | undefined;
  readonly file?: object | undefined;
}
