/**
 * What `etcdutl snapshot restore` leaves on a volume: the directory of a cluster of one, with the snapshot's keys. The
 * model has them in its log, so that those who join replay them too.
 */
import { DataDir } from "./data-dir.ts";
import { foundingEntries, type Entry } from "./entry.ts";
import { clusterIdOf, memberIdOf } from "./ids.ts";

/** What every snapshot of a simulation holds. */
export const RESTORED_KEYS: readonly string[] = ["restored-1", "restored-2", "restored-3"];

export function restoredDir(
  member: { readonly name: string; readonly peerURL: string; readonly token: string },
  content: readonly string[] = RESTORED_KEYS,
  bump = 0,
): DataDir {
  const { name, peerURL, token } = member;
  const id = memberIdOf([peerURL], token);
  const clusterID = clusterIdOf([id]);
  const dir = new DataDir(clusterID, id);
  const members = foundingEntries(clusterID, [{ id, name, peerURL }]);
  const keys = content.map((key, i): Entry => ({
    term: 1,
    index: members.length + i + 1,
    op: { kind: "put", key, size: 100 },
    legacy: false,
  }));
  const index = members.length + keys.length + 1;
  const raised: Entry = { term: 1, index, op: { kind: "raise", by: bump }, legacy: false };
  for (const entry of [...members, ...keys, ...(bump > 0 ? [raised] : [])]) {
    dir.log.push(entry);
    dir.state.apply(entry, { maxLearners: Infinity });
  }
  return dir;
}

/** What a leader of a cluster that began from a snapshot lacks of it. */
export function lacksRestored(dir: DataDir, keys: readonly string[]): string | undefined {
  return keys.find((key) => !dir.state.keys.has(key));
}
