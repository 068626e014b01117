/**
 * What `etcdutl snapshot restore` leaves on a volume: the directory of a cluster of one, with the snapshot's keys. The
 * model has them in its log, so that those who join replay them too.
 */
import { DataDir } from "./data-dir.ts";
import { foundingEntries, type Entry, type Op } from "./entry.ts";
import { clusterIdOf, memberIdOf } from "./ids.ts";

/** What every snapshot of a simulation holds. */
export const RESTORED_KEYS: readonly string[] = ["restored-1", "restored-2", "restored-3"];

/** A snapshot, as far as runs with many of them tell one from another. */
export interface Saved {
  readonly keys: readonly string[];
  readonly revision: number;
}

/** What every store of a simulation has. */
export const STORED: Saved = { keys: RESTORED_KEYS, revision: RESTORED_KEYS.length + 1 };

/** `bump` is counted from the revision of the snapshot, which may be that of a cluster that was restored before. */
export function restoredAs(member: RestoredMember, { keys, revision }: Saved, bump: number): DataDir {
  const behind = Math.max(0, revision - keys.length - 1);
  return restoredDir(member, keys, bump > 0 ? bump + behind : 0);
}

export interface RestoredMember {
  readonly name: string;
  readonly peerURL: string;
  readonly token: string;
}

export function restoredDir(
  member: RestoredMember,
  keys: readonly string[] = RESTORED_KEYS,
  bump = 0,
): DataDir {
  return restoredFrom(
    member,
    keys.map((key): Op => ({ kind: "put", key, size: 100 })),
    bump,
  );
}

/** A snapshot has all that clients and users made, and the alarms; of the members and their versions it keeps nothing. */
const KEPT: ReadonlySet<Op["kind"]> = new Set<Op["kind"]>([
  "put",
  "delete",
  "txn",
  "compact",
  "raise",
  "auth",
  "alarm",
]);

/** What a snapshot of this directory brings into another one. */
export function snapshotOf(dir: DataDir): readonly Op[] {
  return dir.log.filter(({ op, index }) => KEPT.has(op.kind) && !dir.refused.has(index)).map(({ op }) => op);
}

export function restoredFrom(member: RestoredMember, content: readonly Op[], bump = 0): DataDir {
  const { name, peerURL, token } = member;
  const id = memberIdOf([peerURL], token);
  const clusterID = clusterIdOf([id]);
  const dir = new DataDir(clusterID, id);
  const members = foundingEntries(clusterID, [{ id, name, peerURL }]);
  const raised: readonly Op[] = bump > 0 ? [{ kind: "raise", by: bump }] : [];
  const rest = [...content, ...raised].map((op, i): Entry => {
    return { term: 1, index: members.length + i + 1, op, legacy: false };
  });
  for (const entry of [...members, ...rest]) {
    dir.log.push(entry);
    dir.state.apply(entry, { maxLearners: Infinity });
  }
  // What a process hashed while it compacted is not in the file.
  dir.state.compactions = [];
  return dir;
}

/** What a leader of a cluster that began from a snapshot lacks of it. */
export function lacksRestored(dir: DataDir, keys: readonly string[]): string | undefined {
  return keys.find((key) => !dir.state.keys.has(key));
}
