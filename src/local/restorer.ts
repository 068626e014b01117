/** Restores on this machine, with the etcdutl of the member's own version and the credentials of the environment. */
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
  return async ({ restore, record, volume, dataDir }, tell, signal) => {
    const { restoreDataDir } = await import("../snapshot/restore.ts");
    const { name, token, template } = record;
    await restoreDataDir({
      restore,
      volume,
      dataDir,
      member: { name, token, peerURL: peerURLOf(record) },
      etcd: await ensureEtcd(template.version, { env, clock, signal }),
      context: { ...around, cwd: "/", disk: systemDisk },
      ...keyIn(env),
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
  readonly signal: AbortSignal;
}): Fetcher {
  const { env, signal } = around;
  return async ({ restore, version, directory }) => {
    const { fetchForRestore, SNAPSHOT_FILE } = await import("../snapshot/fetch.ts");
    const context = { ...around, cwd: "/", disk: systemDisk };
    const options = { restore, etcdVersion: version, directory, context, ...keyIn(env), signal };
    const { sha256, size, database } = await fetchForRestore(options);
    return { path: path.join(directory, SNAPSHOT_FILE), sha256, size, revision: database.revision };
  };
}

/** The key of encrypted snapshots, where the environment has one, as for `quorate snapshot`. */
function keyIn(env: Env): { key?: EncryptionKey } {
  const text = env["QUORATE_SNAPSHOT_KEY"];
  return text ? { key: parseKey(Buffer.from(text), "$QUORATE_SNAPSHOT_KEY") } : {};
}
