/** Flags that verbs about snapshots share, and what is opened from them. */
import { readFile } from "node:fs/promises";
import path from "node:path";
import { systemDisk } from "../../../seams/disk.ts";
import { findSnapshot, type Entry } from "../../../snapshot/catalog.ts";
import { ChangeLogError } from "../../../snapshot/changes/errors.ts";
import { KeyError, parseKey, type EncryptionKey } from "../../../snapshot/codec/key.ts";
import { SnapshotDamaged } from "../../../snapshot/inspect.ts";
import { openLocation, type Location } from "../../../snapshot/location.ts";
import { ManifestError } from "../../../snapshot/manifest.ts";
import type { Decryption } from "../../../snapshot/read.ts";
import { isStoreError, type StoreErrorKind } from "../../../snapshot/store/store.ts";
import { VerificationError } from "../../../snapshot/verification-error.ts";
import { commandOf } from "../../called.ts";
import { CommandError, EXIT, type ExitCode } from "../../exit.ts";
import type { Flags, ValuesOf } from "../../flag.ts";
import { UsageError, type CliIo, type Verb } from "../../io.ts";
import { plainVerb } from "../../verb.ts";
import type { Argument, Parsed, VerbData } from "../../verb-data.ts";

export const STORE_FLAGS = {
  "s3-endpoint": {
    kind: "text",
    value: "url",
    help: "S3 endpoint of another provider than AWS (default: $AWS_ENDPOINT_URL_S3, $AWS_ENDPOINT_URL)",
  },
  "s3-region": {
    kind: "text",
    value: "region",
    help: "region of the bucket (default: $AWS_REGION, profile, us-east-1)",
  },
  "s3-path-style": {
    kind: "switch",
    help: "bucket in the path, not in the host name (default with --s3-endpoint)",
  },
  "s3-virtual-host": {
    kind: "switch",
    help: "bucket in the host name, also with an endpoint of its own",
  },
  "s3-ca-file": {
    kind: "text",
    value: "file",
    help: "CA certificates of the endpoint (default: $AWS_CA_BUNDLE)",
  },
  "s3-profile": {
    kind: "text",
    value: "name",
    help: "profile in ~/.aws/credentials (default: $AWS_PROFILE)",
  },
  "s3-sse": { kind: "choice", choices: ["AES256", "aws:kms"], help: "encryption by the store" },
  "s3-kms-key": { kind: "text", value: "id", help: "KMS key for --s3-sse aws:kms" },
  "gcs-endpoint": {
    kind: "text",
    value: "url",
    help: "endpoint instead of Google's own (default: $STORAGE_EMULATOR_HOST, which needs no credentials)",
  },
  "gcs-ca-file": { kind: "text", value: "file", help: "CA certificates of --gcs-endpoint" },
  "gcs-kms-key": { kind: "text", value: "name", help: "Cloud KMS key for encryption by the store" },
  "azure-account": {
    kind: "text",
    value: "name",
    help: "storage account of the container (default: $AZURE_STORAGE_ACCOUNT)",
  },
  "azure-endpoint": {
    kind: "text",
    value: "url",
    help: "blob endpoint of the account (default: $AZURE_STORAGE_BLOB_ENDPOINT, then Azure's own)",
  },
  "azure-ca-file": { kind: "text", value: "file", help: "CA certificates of --azure-endpoint" },
  "azure-credentials-dir": {
    kind: "text",
    value: "directory",
    help: "directory with a file AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN (default: variables of these names)",
  },
  "azure-encryption-scope": {
    kind: "text",
    value: "name",
    help: "encryption scope of the container for encryption by the store",
  },
} as const satisfies Flags;

export const KEY_FLAGS = {
  "encryption-key-file": {
    kind: "text",
    value: "file",
    help: "key of 32 bytes, raw, hexadecimal or base64 (default: the key in $QUORATE_SNAPSHOT_KEY)",
  },
} as const satisfies Flags;

export const SNAPSHOT = {
  name: "snapshot",
  help: "s3://, gs:// or azblob://bucket/name.db, file:///directory/name.db or a path",
  complete: "file",
} as const satisfies Argument;

export const FOLDER = {
  name: "folder",
  help: "s3://, gs:// or azblob://bucket/prefix/, file:///directory/ or a path",
  complete: "file",
} as const satisfies Argument;

export type StoreValues = ValuesOf<typeof STORE_FLAGS>;

export async function locationOf(
  text: string,
  flags: StoreValues,
  io: CliIo,
  options: { folder?: boolean } = {},
): Promise<Location> {
  if (flags["s3-kms-key"] !== undefined && flags["s3-sse"] !== "aws:kms")
    throw new UsageError("--s3-kms-key needs --s3-sse aws:kms");
  if (flags["s3-path-style"] && flags["s3-virtual-host"])
    throw new UsageError("--s3-path-style and --s3-virtual-host exclude each other; give one of them");
  const s3 = {
    endpoint: flags["s3-endpoint"],
    region: flags["s3-region"],
    pathStyle: flags["s3-path-style"] ? true : flags["s3-virtual-host"] ? false : undefined,
    caFile: flags["s3-ca-file"],
    profile: flags["s3-profile"],
    sse: flags["s3-sse"],
    kmsKey: flags["s3-kms-key"],
  };
  const gcs = {
    endpoint: flags["gcs-endpoint"],
    caFile: flags["gcs-ca-file"],
    kmsKey: flags["gcs-kms-key"],
  };
  const azure = {
    account: flags["azure-account"],
    endpoint: flags["azure-endpoint"],
    caFile: flags["azure-ca-file"],
    credentialsDir: flags["azure-credentials-dir"],
    encryptionScope: flags["azure-encryption-scope"],
  };
  return await openLocation(text, { ...io, disk: systemDisk, s3, gcs, azure }, options);
}

/** The key of the flag, or of the environment; undefined where neither is given. */
export async function keyOf(
  flags: ValuesOf<typeof KEY_FLAGS>,
  io: CliIo,
): Promise<EncryptionKey | undefined> {
  const file = flags["encryption-key-file"];
  if (file !== undefined) {
    try {
      return parseKey(await readFile(path.resolve(io.cwd, file)), file);
    } catch (error) {
      if (error instanceof KeyError) throw error;
      throw new CommandError(
        EXIT.failed,
        `cannot read the encryption key ${file}: ${(error as Error).message}`,
      );
    }
  }
  const text = io.env["QUORATE_SNAPSHOT_KEY"];
  return text ? parseKey(Buffer.from(text), "$QUORATE_SNAPSHOT_KEY") : undefined;
}

/**
 * For reading. A key in a file is given for this snapshot, so it has to be encrypted; one in the environment may be
 * there for others.
 */
export async function decryptionOf(flags: ValuesOf<typeof KEY_FLAGS>, io: CliIo): Promise<Decryption> {
  return { key: await keyOf(flags, io), encrypted: flags["encryption-key-file"] !== undefined };
}

/** The snapshot that is meant, with its manifest where it has one. */
export async function entryOf(
  { store, name }: Location,
  io: CliIo,
  options: { ignoreManifest?: boolean } = {},
): Promise<Entry> {
  if (name === "")
    throw new UsageError(
      `${store.uri} is a folder: name one snapshot in it (${commandOf(io)} snapshot ls ${store.uri})`,
    );
  const entry = await findSnapshot(store, name, io.signal);
  if (entry === undefined || entry.state === "orphan")
    throw new CommandError(
      EXIT.notFound,
      `there is no snapshot ${store.uri}${name}. List what there is: ${commandOf(io)} snapshot ls ${store.uri}`,
    );
  const { manifest: _, ...plain } = entry;
  if (options.ignoreManifest) return { ...plain, state: "plain" };
  if (entry.state === "damaged")
    throw new CommandError(
      EXIT.failed,
      `${store.uri}${name} is damaged: ${entry.problem ?? "unknown"}. Use another snapshot.`,
    );
  return entry;
}

const CODES: Partial<Record<StoreErrorKind, ExitCode>> = {
  denied: EXIT.denied,
  "no-place": EXIT.notFound,
  "not-found": EXIT.notFound,
  unreachable: EXIT.notFound,
  exists: EXIT.conflict,
  invalid: EXIT.usage,
};

const EXPECTED = [SnapshotDamaged, KeyError, ManifestError, VerificationError, ChangeLogError];

/** A verb whose expected failures (of stores, keys and damaged snapshots) are told without a stack. */
export function snapshotVerb<const D extends VerbData>(
  data: D,
  run: (parsed: Parsed<D>, io: CliIo) => Promise<number | void>,
): Verb {
  return plainVerb<D>(data, async (parsed, io) => {
    try {
      return await run(parsed, io);
    } catch (error) {
      if (io.signal.aborted) throw error;
      if (isStoreError(error))
        throw new CommandError(CODES[error.kind] ?? EXIT.failed, error.message, { cause: error });
      if (error instanceof SnapshotDamaged && data.name.startsWith("snapshot verify-"))
        throw new CommandError(EXIT.damaged, error.message, { cause: error });
      if (EXPECTED.some((kind) => error instanceof kind))
        throw new CommandError(EXIT.failed, (error as Error).message, { cause: error });
      throw error;
    }
  });
}
