/** Restores on this machine, with the etcdutl of the member's own version and the credentials of the environment. */
import { bytesOf } from "../api/quantity.ts";
import { peerURLOf } from "../core/config/flags.ts";
import path from "node:path";
import { ensureEtcd } from "../etcd/install/ensure.ts";
import type { Clock } from "../seams/clock.ts";
import { systemDisk } from "../seams/disk.ts";
import type { Random } from "../seams/random.ts";
import { parseKey, type EncryptionKey } from "../snapshot/codec/key.ts";
import type { Fetcher } from "./fetched.ts";
import type { Restorer } from "./restores.ts";

type Env = Readonly<Record<string, string | undefined>>;

export function machineRestorer(around: {
  readonly clock: Clock;
  readonly random: Random;
  readonly env: Env;
}): Restorer {
  const { env, clock } = around;
  return async ({ restore, record, volume, dataDir, keyFile }, tell, signal) => {
    const { restoreDataDir } = await import("../snapshot/restore.ts");
    const { name, token, template } = record;
    await restoreDataDir({
      restore,
      ...(restore.fitsQuota && { quotaBytes: bytesOf(template.options.quotaBackendBytes) }),
      volume,
      dataDir,
      member: { name, token, peerURL: peerURLOf(record) },
      etcd: await ensureEtcd(template.version, { env, clock, signal }),
      context: { ...around, cwd: "/", disk: systemDisk },
      ...(await keyIn(env, keyFile)),
      signal,
      tell,
    });
  };
}

/** Fetches a snapshot for a restore in place, with the same credentials. */
export function machineFetcher(around: {
  readonly clock: Clock;
  readonly random: Random;
  readonly env: Env;
}): Fetcher {
  return async ({ restore, version, directory, keyFile }, tell, signal) => {
    const { fetchForRestore, SNAPSHOT_FILE } = await import("../snapshot/fetch.ts");
    const { progressText } = await import("../snapshot/progress.ts");
    const { restoreErrorOf } = await import("../snapshot/restore-error.ts");
    const context = { ...around, cwd: "/", disk: systemDisk };
    try {
      const { sha256, size, database } = await fetchForRestore({
        restore,
        etcdVersion: version,
        directory,
        context,
        ...(await keyIn(around.env, keyFile)),
        signal,
        progress: (done, of) => tell(progressText(done, of)),
      });
      return { path: path.join(directory, SNAPSHOT_FILE), sha256, size, revision: database.revision };
    } catch (error) {
      throw signal.aborted ? error : restoreErrorOf(error);
    }
  };
}

/** Of a file, in whatever form and with all former ones. */
const LONGEST_KEY = 4_096;

/** The key of encrypted snapshots: in a file of the cluster, or where the environment has one, as for `quorate snapshot`. */
async function keyIn(env: Env, file: string | undefined): Promise<{ key?: EncryptionKey }> {
  if (file !== undefined) return { key: parseKey(await systemDisk.readBytes(file, 0, LONGEST_KEY), file) };
  const text = env["QUORATE_SNAPSHOT_KEY"];
  return text ? { key: parseKey(Buffer.from(text), "$QUORATE_SNAPSHOT_KEY") } : {};
}
