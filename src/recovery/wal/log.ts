/**
 * What a member's write-ahead log says: who wrote it, its term and vote, how far it reaches and how far it is known to be
 * committed. Read as etcd reads it at its start: from the newest raft snapshot that is whole, entries behind it in their
 * order, a later entry taking the place of those from its index on.
 */
import path from "node:path";
import type { Disk } from "../../seams/disk.ts";
import { crc32c } from "./crc32c.ts";
import {
  readEntry,
  readHardState,
  readMetadata,
  readSnapshot,
  readSnapshotFile,
  RecordType,
  type HardState,
  type LogPosition,
  type WalRecord,
} from "./messages.ts";
import { SegmentReader } from "./segment.ts";

export interface LogFacts {
  readonly clusterID: string;
  readonly memberID: string;
  /** The term it has heard of, its vote in it, and how far it knows the log to be committed. */
  readonly state: HardState;
  /** The last entry. Which of two logs knows more is decided by its term, then by its index, as raft does. */
  readonly last: LogPosition;
  /** The raft snapshot that the log continues from; index 0 for the empty one. */
  readonly snapshot: LogPosition;
  /** The last record was not written whole; etcd cuts it off. */
  readonly torn: boolean;
}

/** Why etcd could not start from this log. */
export class LogDamaged extends Error {
  override name = "LogDamaged";
}

/** Entries that follow each other in one term. */
interface Run {
  readonly term: number;
  readonly from: number;
  to: number;
}

export const SEGMENT = /^([0-9a-f]{16})-([0-9a-f]{16})\.wal$/;
const START: LogPosition = { term: 0, index: 0 };
const LARGEST_SNAPSHOT_FILE = 512 * 1024 * 1024;

/** `directory` is `member/wal`, `snapshots` is `member/snap`. Undefined when there is no log at all. */
export async function readLog(
  disk: Disk,
  directory: string,
  snapshots: string,
): Promise<LogFacts | undefined> {
  const segments = (await disk.list(directory)).filter((name) => SEGMENT.test(name));
  if (segments.length === 0) return undefined;
  checkSequence(segments);
  const found = new Found();
  const reader = new SegmentReader(disk, (record) => found.take(record));
  let torn = false;
  for (const [index, segment] of segments.entries()) {
    const end = await reader.read(path.join(directory, segment), index === segments.length - 1);
    if (end.end === "damaged")
      throw new LogDamaged(`${segment} is damaged at byte ${end.offset}: ${end.why}`);
    torn = end.end === "torn";
  }
  if (found.identity === undefined)
    throw new LogDamaged("it has no metadata, so its cluster and member are unknown");
  const snapshot = await newestSnapshot(disk, snapshots, found);
  return { ...found.identity, state: found.state, snapshot, last: lastAfter(snapshot, found.runs), torn };
}

class Found {
  identity: { memberID: string; clusterID: string } | undefined;
  state: HardState = { term: 0, vote: "0", commit: 0 };
  readonly snapshots: LogPosition[] = [];
  readonly runs: Run[] = [];

  take({ type, data }: WalRecord): void {
    switch (type) {
      case RecordType.metadata:
        this.#identify(readMetadata(data));
        break;
      case RecordType.state:
        this.state = readHardState(data);
        break;
      case RecordType.snapshot:
        this.snapshots.push(readSnapshot(data));
        break;
      case RecordType.entry:
        this.#append(readEntry(data));
    }
  }

  #identify(identity: { memberID: string; clusterID: string }): void {
    const { memberID, clusterID } = this.identity ?? identity;
    if (memberID !== identity.memberID || clusterID !== identity.clusterID)
      throw new LogDamaged("its files are of different members");
    this.identity = identity;
  }

  #append({ term, index }: LogPosition): void {
    const run = this.runs.at(-1);
    if (run?.term === term && index === run.to + 1) run.to = index;
    else this.runs.push({ term, from: index, to: index });
  }
}

function checkSequence(segments: readonly string[]): void {
  const numbers = segments.map((name) => Number.parseInt(name.slice(0, 16), 16));
  const missing = numbers.find((number, index) => index > 0 && number !== (numbers[index - 1] ?? 0) + 1);
  if (missing !== undefined) throw new LogDamaged(`the file before number ${missing} is missing`);
}

/** Named in the log, known to be committed, and whole on the disk. */
async function newestSnapshot(
  disk: Disk,
  directory: string,
  { snapshots, state }: Found,
): Promise<LogPosition> {
  const committed = snapshots.filter(({ index }) => index <= state.commit);
  for (const snapshot of committed.toReversed()) {
    if (snapshot.index === 0) return START;
    const name = `${hex16(snapshot.term)}-${hex16(snapshot.index)}.snap`;
    if (await isWhole(disk, path.join(directory, name))) return snapshot;
  }
  throw new LogDamaged(
    committed.length === 0
      ? "it names no raft snapshot to begin with"
      : `no raft snapshot that it names is whole in ${directory}`,
  );
}

async function isWhole(disk: Disk, file: string): Promise<boolean> {
  const size = (await disk.stat(file))?.size ?? 0;
  if (size === 0 || size > LARGEST_SNAPSHOT_FILE) return false;
  try {
    const { crc, data } = readSnapshotFile(await disk.readBytes(file, 0, size));
    return data.length > 0 && crc === crc32c(data);
  } catch {
    return false;
  }
}

function hex16(value: number): string {
  return value.toString(16).padStart(16, "0");
}

function lastAfter(snapshot: LogPosition, runs: readonly Run[]): LogPosition {
  let last = snapshot;
  for (const { term, from, to } of runs) {
    if (to <= snapshot.index) continue;
    const first = Math.max(from, snapshot.index + 1);
    if (first > last.index + 1) throw new LogDamaged(`entries ${last.index + 1} to ${first - 1} are missing`);
    last = { term, index: to };
  }
  return last;
}
