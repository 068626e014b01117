/**
 * What is known of a snapshot, as JSON beside it. It is written last, so an object with a manifest is whole; without
 * one it may be any file. Readers ignore fields that they do not know and refuse a format that they do not know.
 */

/** Stands for a cluster or a member that is not known; etcd never gives this ID. */
export const UNKNOWN_ID = "0";

export const MANIFEST_FORMAT = 1;
export const MANIFEST_SUFFIX = ".manifest.json";

export interface HashKvRecord {
  readonly hash: number;
  readonly revision: number;
  readonly compactRevision: number;
}

export interface EncryptionRecord {
  readonly algorithm: "AES-256-GCM";
  /** Names the key without telling it. */
  readonly keyId: string;
  readonly chunkBytes: number;
}

export interface Manifest {
  readonly format: typeof MANIFEST_FORMAT;
  /** The object beside it. */
  readonly object: string;
  /** Lower-case hexadecimal, as etcdctl prints it. */
  readonly clusterId: string;
  /** `initial-cluster-token` of that cluster, where Quorate runs it: the UID of the EtcdCluster and the life. */
  readonly token?: string;
  /** How often the cluster had begun by then: more than 1 after a restore in place or a recovery. */
  readonly life?: number;
  readonly member: { readonly id: string; readonly name?: string; readonly endpoint: string };
  /** Of the member that sent it, as "3.6.16": restore with etcdutl of the same minor version. */
  readonly etcdVersion: string;
  /** Written by etcd 3.6 and later, as "3.6.0". */
  readonly storageVersion?: string;
  /** As `etcdutl snapshot status` prints it. */
  readonly revision: number;
  /** Keys, as etcdutl 3.6 and later print them; absent when there are more records than are counted. */
  readonly totalKeys?: number;
  /** Entries of all buckets, as etcdutl 3.5 prints them. */
  readonly totalEntries: number;
  /** Of users and roles, where it was read: change logs go with a snapshot of the same one. */
  readonly authRevision?: number;
  /** Present where `authRevision` is: enabling authentication does not raise that. */
  readonly authEnabled?: boolean;
  /** Up to which history is compacted; a restored etcd begins here if it is later than `revision`. */
  readonly compactRevision?: number;
  /** Bytes of the plain snapshot. */
  readonly size: number;
  /** SHA-256 of the plain snapshot, in hexadecimal. */
  readonly sha256: string;
  /** Bytes and SHA-256 of the object, which differ from the above when it is compressed or encrypted. */
  readonly stored: { readonly size: number; readonly sha256: string };
  readonly compression: "none" | "zstd";
  readonly encryption?: EncryptionRecord;
  readonly hashKv?: HashKvRecord;
  /** The snapshot that it was rebuilt from, with a change log. */
  readonly builtFrom?: string;
  readonly startedAt: string;
  readonly completedAt: string;
}

export class ManifestError extends Error {
  override name = "ManifestError";
}

export function manifestName(object: string): string {
  return `${object}${MANIFEST_SUFFIX}`;
}

export function writeManifest(manifest: Manifest): string {
  return `${JSON.stringify(manifest, undefined, 2)}\n`;
}

type Fields = Readonly<Record<string, unknown>>;

/** `where` is for messages. */
export function parseManifest(text: string, where: string): Manifest {
  const fail = (what: string): never => {
    throw new ManifestError(
      `${where} is not a valid manifest: ${what}. The snapshot beside it can still be read as a plain file with \`snapshot get --no-manifest\`.`,
    );
  };
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    throw new ManifestError(`${where} is not a valid manifest: it is not JSON (cut off?)`, { cause: error });
  }
  const fields = isFields(parsed) ? parsed : fail("it is not a JSON object");
  if (fields["format"] !== MANIFEST_FORMAT)
    throw new ManifestError(
      `${where} has format ${JSON.stringify(fields["format"])}, and this version of quorate reads ${MANIFEST_FORMAT}: use a newer one`,
    );
  const child = (of: Fields, name: string): Fields => {
    const value = of[name];
    return isFields(value) ? value : fail(`${name} is not an object`);
  };
  const text_ = (of: Fields, name: string, pattern = /^/): string => {
    const value = of[name];
    return typeof value === "string" && pattern.test(value) ? value : fail(`${name} is missing or not valid`);
  };
  const number = (of: Fields, name: string): number => {
    const value = of[name];
    return typeof value === "number" && Number.isSafeInteger(value) && value >= -1
      ? value
      : fail(`${name} is missing or not a number`);
  };
  const truth = (of: Fields, name: string): boolean => {
    const value = of[name];
    return typeof value === "boolean" ? value : fail(`${name} is neither true nor false`);
  };
  const optional = <T>(of: Fields, name: string, read: (of: Fields, name: string) => T): T | undefined =>
    of[name] === undefined ? undefined : read(of, name);
  const digest = /^[0-9a-f]{64}$/;
  const date = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;
  const member = child(fields, "member");
  const stored = child(fields, "stored");
  const token = optional(fields, "token", text_);
  const life = optional(fields, "life", number);
  const memberName = optional(member, "name", text_);
  const storageVersion = optional(fields, "storageVersion", text_);
  const totalKeys = optional(fields, "totalKeys", number);
  const authRevision = optional(fields, "authRevision", number);
  const authEnabled = optional(fields, "authEnabled", truth);
  const compactRevision = optional(fields, "compactRevision", number);
  const encryption = optional(fields, "encryption", child);
  const hashKv = optional(fields, "hashKv", child);
  const builtFrom = optional(fields, "builtFrom", text_);
  return {
    format: MANIFEST_FORMAT,
    object: text_(fields, "object"),
    clusterId: text_(fields, "clusterId", /^[0-9a-f]{1,16}$/),
    ...(token !== undefined && { token }),
    ...(life !== undefined && { life }),
    member: {
      id: text_(member, "id"),
      ...(memberName !== undefined && { name: memberName }),
      endpoint: text_(member, "endpoint"),
    },
    etcdVersion: text_(fields, "etcdVersion", /^\d+\.\d+\.\d+/),
    ...(storageVersion !== undefined && { storageVersion }),
    revision: number(fields, "revision"),
    ...(totalKeys !== undefined && { totalKeys }),
    totalEntries: number(fields, "totalEntries"),
    ...(authRevision !== undefined && { authRevision }),
    ...(authEnabled !== undefined && { authEnabled }),
    ...(compactRevision !== undefined && { compactRevision }),
    size: number(fields, "size"),
    sha256: text_(fields, "sha256", digest),
    stored: { size: number(stored, "size"), sha256: text_(stored, "sha256", digest) },
    compression: text_(fields, "compression", /^(none|zstd)$/) as Manifest["compression"],
    ...(encryption !== undefined && {
      encryption: {
        algorithm: text_(encryption, "algorithm", /^AES-256-GCM$/) as "AES-256-GCM",
        keyId: text_(encryption, "keyId", /^[0-9a-f]{16}$/),
        chunkBytes: number(encryption, "chunkBytes"),
      },
    }),
    ...(hashKv !== undefined && {
      hashKv: {
        hash: number(hashKv, "hash"),
        revision: number(hashKv, "revision"),
        compactRevision: number(hashKv, "compactRevision"),
      },
    }),
    ...(builtFrom !== undefined && { builtFrom }),
    startedAt: text_(fields, "startedAt", date),
    completedAt: text_(fields, "completedAt", date),
  };
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
