/**
 * Makes the data directory of a cluster's first member from a snapshot: fetched and checked, restored by the etcdutl of
 * the version that will run on it, and put in its place as a whole. Whatever ends it half way leaves the place empty.
 */
import path from "node:path";
import type { RestoreRecipe } from "../api/bootstrap.ts";
import { bumpOf } from "../api/restore-values.ts";
import { snapshotRestore } from "../etcd/etcdutl.ts";
import type { InstalledEtcd } from "../etcd/install/ensure.ts";
import { hex } from "../seams/random.ts";
import { fetchForRestore, SNAPSHOT_FILE, type FetchOptions } from "./fetch.ts";
import { progressText } from "./progress.ts";
import { RestoreError, restoreErrorOf } from "./restore-error.ts";

export interface RestoreOptions extends Omit<FetchOptions, "directory" | "progress" | "etcdVersion"> {
  readonly restore: RestoreRecipe;
  /** The volume's own directory; attempts are made in it, since only within it a rename is whole. */
  readonly volume: string;
  /** Inside the volume; may exist if it is empty. */
  readonly dataDir: string;
  readonly member: { readonly name: string; readonly peerURL: string; readonly token: string };
  readonly etcd: InstalledEtcd;
  readonly tell: (text: string) => void;
}

const ATTEMPT = "restore-";

/** Throws a `RestoreError`. */
export async function restoreDataDir(options: RestoreOptions): Promise<void> {
  try {
    await restore(options);
  } catch (error) {
    if (options.signal.aborted) throw error;
    throw restoreErrorOf(error);
  }
}

async function restore(options: RestoreOptions): Promise<void> {
  const { volume, dataDir, etcd, tell } = options;
  const { disk } = options.context;
  if (etcd.etcdutl === undefined)
    throw new RestoreError("version", `etcd ${etcd.version} has no etcdutl: use 3.5 or later`);
  await removeAttempts(options);
  // Under a name of its own: what a killed controller's etcdutl still writes is in nobody's way.
  const directory = path.join(volume, `${ATTEMPT}${hex(options.context.random, 4)}`);
  try {
    tell("looking for it");
    const { database } = await fetchForRestore({
      ...options,
      directory,
      etcdVersion: etcd.version,
      progress: (done, of) => tell(progressText(done, of)),
    });
    tell(`restoring it with etcdutl ${etcd.version}`);
    const restored = path.join(directory, "data");
    const bump = bumpOf({ ...options.restore, revision: database.revision });
    await restoreFile(options, path.join(directory, SNAPSHOT_FILE), restored, etcd.etcdutl, bump);
    options.signal.throwIfAborted();
    // Replaces an empty directory and nothing else.
    await disk.rename(restored, dataDir);
  } finally {
    await disk.remove(directory);
  }
}

async function restoreFile(
  { member, etcd, context, signal }: RestoreOptions,
  snapshot: string,
  dataDir: string,
  binary: string,
  bump: number,
): Promise<void> {
  const { name, peerURL, token } = member;
  await snapshotRestore(
    { binary, version: etcd.version, env: context.env, signal },
    {
      snapshot,
      dataDir,
      name,
      token,
      peerUrls: [peerURL],
      initialCluster: [`${name}=${peerURL}`],
      bumpRevision: BigInt(bump),
    },
  );
}

async function removeAttempts({ volume, context: { disk } }: RestoreOptions): Promise<void> {
  for (const name of await disk.list(volume))
    if (name.startsWith(ATTEMPT)) await disk.remove(path.join(volume, name));
}
