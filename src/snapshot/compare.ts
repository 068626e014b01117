/**
 * Compares an etcd that was restored from a snapshot with what was recorded when the snapshot was taken: revision,
 * number of keys, and etcd's own hash of the keys where it was recorded at the same compaction.
 */
import type { EtcdClient } from "../etcd/client.ts";
import type { DatabaseFacts } from "./bolt/resolve.ts";
import { SnapshotDamaged } from "./inspect.ts";
import type { HashKvRecord } from "./manifest.ts";

export interface Recorded {
  readonly database: Pick<DatabaseFacts, "revision" | "totalKeys">;
  readonly hashKv?: HashKvRecord | undefined;
}

export interface Compared {
  readonly revision: number;
  readonly totalKeys: number;
  readonly hash: number;
  /** Whether the hash could be compared with one that the source recorded at the same compaction. */
  readonly hashCompared: boolean;
}

/** A read of all keys, or of their hashes. */
const READ_TIMEOUT_MS = 120_000;

/** Throws `SnapshotDamaged` where they differ. */
export async function compareRestored(
  reader: EtcdClient,
  endpoint: { readonly name: string; readonly url: string },
  { database, hashKv }: Recorded,
  signal: AbortSignal,
): Promise<Compared> {
  const limits = { timeoutMs: READ_TIMEOUT_MS, signal };
  const latest = await reader.maintenance.hashKv(endpoint, 0n, limits);
  const compactRevision = Number(latest.compactRevision);
  // Where the latest changes were deletions, compaction leaves no trace of them but its own revision.
  const expected = Math.max(1, database.revision, compactRevision);
  const revision = Number(latest.header.revision);
  // It may be ahead by now: leases that were about to expire have expired here too.
  if (revision < expected) throw differs("revision", revision, expected);
  const past = { ...limits, revision: BigInt(expected), rangeEnd: "\0", countOnly: true };
  const all = await reader.kv.range("\0", past);
  if (database.totalKeys !== undefined && all.count !== database.totalKeys)
    throw differs("number of keys", all.count, database.totalKeys);
  const hash = await reader.maintenance.hashKv(endpoint, BigInt(expected), limits);
  // Hashes compare only at equal compactions.
  const hashCompared = hashKv?.compactRevision === compactRevision && hashKv.revision === expected;
  if (hashKv !== undefined && hashCompared && hash.hash !== hashKv.hash)
    throw differs(`hash of the keys at revision ${expected}`, hash.hash, hashKv.hash);
  return { revision: expected, totalKeys: all.count, hash: hash.hash, hashCompared };
}

function differs(what: string, found: number, recorded: number): SnapshotDamaged {
  return new SnapshotDamaged(
    `after a restore its ${what} is ${found}, and ${recorded} was recorded. Use another snapshot.`,
  );
}
