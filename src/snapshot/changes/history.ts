/**
 * Whether a cluster still has the history that was recorded of it. One that was restored from a snapshot under the same
 * cluster ID, without raising its revision, gives the same numbers to other changes; both in one log would be no log.
 */
import type { EtcdClient } from "../../etcd/client.ts";
import { isEtcdError } from "../../etcd/errors.ts";
import { ChangeLogError } from "./errors.ts";
import type { RevisionRecord } from "./record.ts";

/** compacted: etcd cannot tell any more. */
export type History = "same" | "other" | "compacted";

/** Reads at the revision of a recorded change what it left behind. */
export async function compareHistory(
  client: EtcdClient,
  { revision, changes }: RevisionRecord,
  signal: AbortSignal,
): Promise<History> {
  const change = changes.find(({ type }) => type === "put") ?? changes[0];
  if (change === undefined) return "same";
  try {
    const found = await client.kv.get(change.key, { revision: BigInt(revision), signal });
    if (change.type === "delete") return found === undefined ? "same" : "other";
    const isSame =
      found !== undefined &&
      Number(found.modRevision) === revision &&
      Number(found.createRevision) === change.createRevision &&
      Number(found.version) === change.version &&
      Buffer.from(found.value).equals(change.value);
    return isSame ? "same" : "other";
  } catch (error) {
    if (isEtcdError(error) && error.kind === "compacted") return "compacted";
    throw error;
  }
}

/** The cluster has not come as far as what is recorded of it. */
export async function requireReached(
  client: EtcdClient,
  where: { readonly uri: string; readonly clusterId: string; readonly recorded: number },
  signal: AbortSignal,
): Promise<void> {
  // Read after all that was recorded, and through raft: another follower may just have written.
  const { header } = await client.kv.range("\0", { limit: 1, keysOnly: true, signal });
  const revision = Number(header.revision);
  if (revision < where.recorded)
    throw setBack(
      where,
      `has revision ${revision}, and ${where.uri} has snapshots or changes of it up to revision ${where.recorded}`,
    );
}

export function setBack({ clusterId }: { readonly clusterId: string }, how: string): ChangeLogError {
  return new ChangeLogError(
    "set-back",
    `cluster ${clusterId} ${how}: it was restored from an earlier snapshot under the same cluster ID, so its changes do not continue those. Record into a new folder.`,
  );
}
