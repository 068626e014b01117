/**
 * The records from a snapshot's revision to a point, out of the segments that lead there. Each segment is read whole and
 * checked before a record of it is given; that nothing is missing between them, and that they are of the same cluster
 * and with the same users and roles, is checked from one to the next. Two followers write segments that overlap: what
 * is there twice has to be the same.
 */
import type { Decryption } from "../read.ts";
import type { Store } from "../store/store.ts";
import { describeAuth, isSameAuth, type AuthState } from "./auth.ts";
import { ChangeLogError } from "./errors.ts";
import type { NamedSegment } from "./log.ts";
import { encodeRecord, type LeaseRecord, type RevisionRecord } from "./record.ts";
import { readSegment, type SegmentHeader } from "./segment.ts";

export interface ReadLogOptions extends Decryption {
  readonly store: Store;
  readonly clusterId: string;
  readonly segments: readonly NamedSegment[];
  /** Records up to this revision are left out. */
  readonly after: number;
  readonly revision: number;
  /** Of the snapshot that the records are replayed on. */
  readonly auth: AuthState;
  readonly signal: AbortSignal;
}

export interface Step {
  readonly segment: string;
  readonly record: RevisionRecord;
  /** Of all leases that its keys hang on. */
  readonly leases: ReadonlyMap<bigint, LeaseRecord>;
}

export async function* readSteps(options: ReadLogOptions): AsyncGenerator<Step> {
  const { store, revision, signal } = options;
  let before: string | undefined;
  // What the next segment may hold again.
  let recent = new Map<number, RevisionRecord>();
  let last = options.after;
  for (const { name } of options.segments) {
    const { header, records } = await readSegment({ ...options, name });
    requireNext(options, name, header, { name: before, last });
    before = name;
    recent = new Map([...recent].filter(([known]) => known > header.after));
    const leases = new Map<bigint, LeaseRecord>();
    for (const record of records) {
      if (record.kind === "lease") {
        leases.set(record.id, record);
        continue;
      }
      const known = recent.get(record.revision);
      if (known !== undefined && !isSameChange(known, record)) throw twice(`${store.uri}${name}`, record);
      recent.set(record.revision, record);
      if (record.revision > last) {
        signal.throwIfAborted();
        yield { segment: `${store.uri}${name}`, record, leases };
        last = record.revision;
        if (last === revision) return;
      }
    }
  }
  if (last !== revision)
    throw new ChangeLogError(
      "unreachable",
      `the change log ends with revision ${last}, and ${revision} was asked for. \`snapshot ls\` shows what can be restored.`,
    );
}

/** But for when it was received. */
function isSameChange(a: RevisionRecord, b: RevisionRecord): boolean {
  return encodeRecord({ ...a, time: 0 }).equals(encodeRecord({ ...b, time: 0 }));
}

function twice(uri: string, { revision }: RevisionRecord): ChangeLogError {
  return new ChangeLogError(
    "gap",
    `revision ${revision} is not the same in the segment ${uri} as in the one before it: they are of two histories of the cluster. Points before revision ${revision} can be restored. Record into a new folder.`,
  );
}

function requireNext(
  { store, clusterId, auth }: ReadLogOptions,
  name: string,
  header: SegmentHeader,
  before: { readonly name: string | undefined; readonly last: number },
): void {
  const uri = `${store.uri}${name}`;
  if (header.clusterId !== clusterId)
    throw new ChangeLogError(
      "other-cluster",
      `the segment ${uri} is of cluster ${header.clusterId}, and the snapshot of ${clusterId}. Nothing was restored.`,
    );
  if (!isSameAuth(header, auth))
    throw new ChangeLogError(
      "auth",
      `users or roles changed, or authentication was switched, before the segment ${uri} (${describeAuth(header)}; in the snapshot ${describeAuth(auth)}). Restore a point before it, or one after a later snapshot.`,
    );
  const { last } = before;
  if (header.after > last)
    throw new ChangeLogError(
      "gap",
      `revisions ${last + 1} to ${header.after} are missing before the segment ${uri}${before.name ? ` and after ${before.name}` : ""} of the change log. Points up to revision ${last} can be restored.`,
    );
}
