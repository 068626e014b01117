/**
 * The records from a snapshot's revision to a point, out of the segments that lead there. Each segment is read whole and
 * checked before a record of it is given; that one follows the other, of the same cluster and with the same users and
 * roles, is checked from one to the next.
 */
import type { Decryption } from "../read.ts";
import type { Store } from "../store/store.ts";
import { ChangeLogError } from "./errors.ts";
import type { NamedSegment } from "./log.ts";
import type { LeaseRecord, RevisionRecord } from "./record.ts";
import { readSegment, type SegmentHeader } from "./segment.ts";

export interface ReadLogOptions extends Decryption {
  readonly store: Store;
  readonly clusterId: string;
  readonly segments: readonly NamedSegment[];
  /** Records up to this revision are left out. */
  readonly after: number;
  readonly revision: number;
  /** Of the snapshot that the records are replayed on. */
  readonly authRevision: number;
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
  let before: { name: string; header: SegmentHeader } | undefined;
  let last = options.after;
  for (const { name } of options.segments) {
    const { header, records } = await readSegment({ ...options, name });
    requireNext(options, name, header, before);
    before = { name, header };
    const leases = new Map<bigint, LeaseRecord>();
    for (const record of records) {
      if (record.kind === "lease") leases.set(record.id, record);
      else if (record.revision > last) {
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
      `the change log ends with revision ${last}, and ${revision} was asked for. quorate snapshot ls shows what can be restored.`,
    );
}

function requireNext(
  { store, clusterId, after, authRevision }: ReadLogOptions,
  name: string,
  header: SegmentHeader,
  before: { name: string; header: SegmentHeader } | undefined,
): void {
  const uri = `${store.uri}${name}`;
  if (header.clusterId !== clusterId)
    throw new ChangeLogError(
      "other-cluster",
      `the segment ${uri} is of cluster ${header.clusterId}, and the snapshot of ${clusterId}. Nothing was restored.`,
    );
  if (header.authRevision !== authRevision)
    throw new ChangeLogError(
      "auth",
      `users or roles changed before the segment ${uri} (auth revision ${header.authRevision}, and ${authRevision} in the snapshot). Restore a point before it, or one after a later snapshot.`,
    );
  const last = before?.header.last ?? after;
  if (before === undefined ? header.after > last : header.after !== last) {
    const what =
      header.after > last
        ? `revisions ${last + 1} to ${header.after} are missing`
        : "revisions are there twice";
    throw new ChangeLogError(
      "gap",
      `${what} before the segment ${uri}${before ? ` and after ${before.name}` : ""} of the change log. Points up to revision ${last} can be restored.`,
    );
  }
}
