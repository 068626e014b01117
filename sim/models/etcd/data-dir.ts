/**
 * A member's data directory: what survives its process. It belongs to one member of one cluster for ever
 * (I4); the model keeps it as an object under the directory's path, so that deleting the path loses it.
 */
import type { Entry } from "./entry.ts";
import { State } from "./state.ts";

export class DataDir {
  readonly clusterID: string;
  readonly memberID: string;
  readonly log: Entry[] = [];
  /** Indexes of changes that this member refused when it applied them. */
  readonly refused = new Set<number>();
  state = new State();
  /** Up to here the log is only kept as a snapshot: a restart does not replay it. */
  snapshotIndex = 0;
  /** The minor that wrote it, kept since 3.6 (R13). */
  storageVersion: string | undefined;
  /** What a flipped page did: 0 is nothing; anything else changes every hash. */
  corruption = 0;
  /** The database file cannot be opened. */
  unreadable = false;
  /** An older copy was put in its place: its member has forgotten what it promised since. */
  rolledBack = false;

  constructor(clusterID: string, memberID: string) {
    this.clusterID = clusterID;
    this.memberID = memberID;
  }

  get lastTerm(): number {
    return this.log.at(-1)?.term ?? 0;
  }

  /** As it was when its log had `length` entries. */
  olderCopy(length: number): DataDir {
    const copy = new DataDir(this.clusterID, this.memberID);
    for (const entry of this.log.slice(0, length)) {
      copy.log.push(entry);
      if (copy.state.apply(entry, { maxLearners: Infinity })) copy.refused.add(entry.index);
    }
    copy.storageVersion = this.storageVersion;
    copy.rolledBack = true;
    return copy;
  }
}

/** Where data directories are: the model disk, or a map. */
export interface DataDirs {
  read(path: string): DataDir | undefined;
  /** Refused when the disk is full or read-only. */
  write(path: string, dir: DataDir): void;
  isFull(path: string): boolean;
}

/**
 * What a start with --force-new-cluster does to a directory first (R54): all other members are removed from its log. It
 * stays the same member of the same cluster, with all keys and their revision.
 */
export function forceNewCluster(dir: DataDir): void {
  for (const id of dir.state.members.keys()) {
    if (id === dir.memberID) continue;
    const index = dir.log.length + 1;
    const entry: Entry = {
      term: Math.max(1, dir.lastTerm),
      index,
      op: { kind: "remove", id },
      legacy: false,
    };
    dir.log.push(entry);
    dir.state.apply(entry, { maxLearners: Infinity });
  }
}

/** What a member would answer for HashKV at a revision. */
export function hashAt(dir: DataDir, revision: number, compactRevision = dir.state.compactRevision): number {
  const { hashes } = dir.state;
  const hash = Math.imul((hashes.get(revision) ?? 0) ^ dir.corruption, 0x85ebca6b) ^ compactRevision;
  return hash >>> 0;
}
