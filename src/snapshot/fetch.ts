/**
 * Brings the snapshot that a cluster is to start from onto a volume: found, of the right version, with room for it,
 * read to its end and checked. Only then is there a file, and only that file is ever restored.
 */
import type { RestoreRecipe } from "../api/bootstrap.ts";
import { sayAboveQuota } from "../core/messages/recovery-endings.ts";
import { mebibytes } from "../core/messages/words.ts";
import { minorOf } from "../core/version/version.ts";
import { freeBytes } from "../seams/disk.ts";
import { findSnapshot, type Entry } from "./catalog.ts";
import { leftoversOf } from "./leftovers.ts";
import { openLocation, type Location, type LocationContext } from "./location.ts";
import { manifestName, writeManifest, type Manifest } from "./manifest.ts";
import { sourceURI, storeSettings, type StoreFiles } from "./place.ts";
import { SnapshotReader, type Decryption } from "./read.ts";
import { RestoreError } from "./restore-error.ts";
import { FileStore } from "./store/file.ts";
import { once } from "./store/store.ts";
import type { SnapshotFacts } from "./inspect.ts";

export interface FetchOptions extends Decryption {
  readonly restore: RestoreRecipe;
  /** That the cluster will run: its etcdutl restores the file. */
  readonly etcdVersion: string;
  /** On the volume; made if it is not there. */
  readonly directory: string;
  /** Of the cluster; without it, a database of any size is fetched. */
  readonly quotaBytes?: number | undefined;
  readonly context: Omit<LocationContext, "s3" | "gcs" | "azure">;
  readonly files?: StoreFiles;
  readonly signal: AbortSignal;
  readonly progress?: (done: number, of: number | undefined) => void;
}

export const SNAPSHOT_FILE = "snapshot.db";

/** etcd makes the segments of its log with their full length, and one ahead. */
const LOG_BYTES = 2 * 64 * 1024 * 1024;

export async function fetchForRestore(options: FetchOptions): Promise<SnapshotFacts> {
  const { restore, directory, context, signal } = options;
  const { store, name } = await locate(options);
  const entry = await requireSnapshot({ store, name }, signal);
  requireVersion(options.etcdVersion, entry.manifest?.etcdVersion);
  const size = entry.manifest?.size ?? entry.size;
  // Without a manifest the object may be compressed, and the size of the database is known at its end.
  requireQuota(options, entry.manifest?.size ?? 0);
  const files = new FileStore(directory, context.random);
  await context.disk.makeDirectory(directory);
  // The directory is for this restore alone, so that whoever wrote it was killed; it takes the room of the snapshot.
  for (const { name: left } of await leftoversOf(files, "", ({ of }) => of === SNAPSHOT_FILE, signal))
    await files.delete(left);
  await requireRoom(directory, size);
  const reader = new SnapshotReader({
    ...options,
    store,
    name,
    manifest: entry.manifest,
    progress: (done) => options.progress?.(done, size),
  });
  const checked = async function* (): AsyncGenerator<Uint8Array> {
    yield* reader;
    // Thrown before the file gets its name.
    const { facts } = reader;
    if (facts === undefined) throw new RestoreError("damaged", `${store.uri}${name} is empty`);
    requireQuota(options, facts.size);
    requireChecksum(restore, reader.objectSha256 ?? facts.sha256, `${store.uri}${name}`);
    requireVersion(
      options.etcdVersion,
      entry.manifest?.etcdVersion ?? facts.database.storageVersion ?? "3.5.0",
    );
  };
  // Before the file: of an earlier attempt it would be that of another one.
  await files.delete(manifestName(SNAPSHOT_FILE));
  await files.put(SNAPSHOT_FILE, checked(), { signal, ifAbsent: false });
  if (reader.facts === undefined) throw new RestoreError("damaged", `${store.uri}${name} is empty`);
  if (entry.manifest) await keepManifest(files, entry.manifest, signal);
  return reader.facts;
}

/**
 * Who restores from the file later judges it as it was judged here. The data alone does not tell its version when it is of
 * a member that was upgraded before the others: etcd writes it only once the whole cluster is upgraded.
 */
async function keepManifest(files: FileStore, manifest: Manifest, signal: AbortSignal): Promise<void> {
  const { encryption: _over, size, sha256, ...rest } = manifest;
  const stored = { size, sha256 };
  const plain: Manifest = { ...rest, size, sha256, object: SNAPSHOT_FILE, stored, compression: "none" };
  await files.put(manifestName(SNAPSHOT_FILE), once(writeManifest(plain)), { signal, ifAbsent: false });
}

async function locate({ restore, context, files }: FetchOptions): Promise<Location> {
  const settings = storeSettings(restore.source, files);
  return await openLocation(sourceURI(restore.source), { ...context, ...settings });
}

async function requireSnapshot({ store, name }: Location, signal: AbortSignal): Promise<Entry> {
  const uri = `${store.uri}${name}`;
  if (name === "") throw new RestoreError("invalid", `${uri} is a folder: name one snapshot in it`);
  const entry = await findSnapshot(store, name, signal);
  if (entry === undefined || entry.state === "orphan")
    throw new RestoreError("not-found", `there is no snapshot ${uri}`);
  if (entry.state === "damaged")
    throw new RestoreError("damaged", `${uri} is damaged: ${entry.problem ?? "unknown"}`);
  return entry;
}

/**
 * Each minor version's tool handles its own data (R24), and an upgrade is a rollout of its own. 3.4 has no such tool,
 * and that of 3.5 restores its snapshots. What leaves no trace of its version is of 3.5 or older.
 */
function requireVersion(wanted: string, written: string | undefined): void {
  if (written === undefined) return;
  const [to, from] = [minorOf(wanted), minorOf(written)];
  if (to === from || (to === "3.5" && from === "3.4")) return;
  const use = from === "3.4" ? "3.5" : from;
  throw new RestoreError(
    "version",
    `etcd ${from} wrote the snapshot, and the cluster is to run ${wanted}: restore it with a ${use} version, and upgrade afterwards`,
  );
}

/** A database above its quota takes no write: no cluster that is any use would come of its snapshot. */
function requireQuota({ quotaBytes: quota = Infinity }: FetchOptions, size: number): void {
  if (size > quota) throw new RestoreError("quota", sayAboveQuota({ size, quota }));
}

/** The file, the database made from it, and etcd's log. */
async function requireRoom(directory: string, size: number): Promise<void> {
  const [free, needed] = [await freeBytes(directory), 2 * size + LOG_BYTES];
  if (free < needed)
    throw new RestoreError(
      "space",
      `the volume has ${mebibytes(free)} free, and restoring a snapshot of ${mebibytes(size)} needs ${mebibytes(needed)}`,
    );
}

function requireChecksum({ checksum }: RestoreRecipe, sha256: string, uri: string): void {
  if (checksum !== undefined && checksum !== sha256)
    throw new RestoreError(
      "checksum",
      `${uri} has the SHA-256 ${sha256}, and ${checksum} was expected. Nothing was restored`,
    );
}
