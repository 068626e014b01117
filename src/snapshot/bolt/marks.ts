/**
 * Single values of etcd's own buckets that tell of the whole database: which version wrote it, which revision of users
 * and roles it has, and up to which revision its history is compacted.
 */

export interface Marks {
  /** In the bucket "meta", by etcd 3.6 and later. */
  readonly storageVersion?: string;
  /** In the bucket "auth": counts changes of users and roles, and each time that it was disabled. */
  readonly authRevision?: number;
  /** In the bucket "auth": one byte; it never was enabled where there is none. */
  readonly authEnabled?: boolean;
  /** In the bucket "meta": where compaction has ended, or was about to. */
  readonly compactRevision?: number;
}

const READERS: readonly (readonly [Buffer, (value: Buffer, before: Marks) => Marks])[] = [
  [Buffer.from("storageVersion"), (value) => ({ storageVersion: value.subarray(0, 32).toString("utf8") })],
  [Buffer.from("authRevision"), (value) => numbered("authRevision", value)],
  [Buffer.from("authEnabled"), (value) => ({ authEnabled: value.length === 1 && value[0] === 1 })],
  [Buffer.from("finishedCompactRev"), compacted],
  [Buffer.from("scheduledCompactRev"), compacted],
];

/** Lengths of their names: most entries are told apart by that. */
export const MARK_BYTES: ReadonlySet<number> = new Set(READERS.map(([name]) => name.length));

/** What an entry of a bucket adds to what is known; the same object where it adds nothing. */
export function addMark(known: Marks | undefined, key: Uint8Array, value: Uint8Array): Marks | undefined {
  for (const [name, read] of READERS) {
    if (name.length !== key.length || !name.equals(key)) continue;
    const bytes = Buffer.from(value.buffer, value.byteOffset, value.length);
    return { ...known, ...read(bytes, known ?? {}) };
  }
  return known;
}

/** A restored etcd begins at the later of the two. */
function compacted(value: Buffer, before: Marks): Marks {
  const { compactRevision } = numbered("compactRevision", value);
  return compactRevision === undefined
    ? {}
    : { compactRevision: Math.max(compactRevision, before.compactRevision ?? 0) };
}

/** The first eight bytes, big-endian: a counter, or the main part of a revision. */
function numbered(name: "authRevision" | "compactRevision", value: Buffer): Marks {
  if (value.length < 8) return {};
  const number = Number(value.readBigUInt64BE(0));
  return Number.isSafeInteger(number) ? { [name]: number } : {};
}
