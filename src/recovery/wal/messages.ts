/**
 * The messages in etcd's write-ahead log, as far as they tell who wrote it and how far it reaches. IDs are etcd's, as
 * lower-case hex; the content of entries is not looked at.
 */
import { BinaryReader } from "@bufbuild/protobuf/wire";

/** Of a record: what its data is. */
export const RecordType = { metadata: 1, entry: 2, state: 3, crc: 4, snapshot: 5 } as const;

export interface WalRecord {
  readonly type: number;
  readonly crc: number;
  readonly data: Uint8Array;
}

/** One position of raft's log. */
export interface LogPosition {
  readonly term: number;
  readonly index: number;
}

export interface HardState {
  readonly term: number;
  /** The ID of the member it voted for in this term; "0" for none. */
  readonly vote: string;
  readonly commit: number;
}

const NOTHING: Uint8Array = new Uint8Array(0);

type Read = (reader: BinaryReader, field: number) => boolean;

/** Fields that `read` does not know are skipped. Throws on bytes that are no message. */
function message(bytes: Uint8Array, read: Read): void {
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [field, wire] = reader.tag();
    if (!read(reader, field)) reader.skip(wire);
  }
}

function numbers(bytes: Uint8Array, fields: number): bigint[] {
  const found = Array.from({ length: fields + 1 }, () => 0n);
  message(bytes, (reader, field) => {
    if (field < 1 || field > fields) return false;
    found[field] = BigInt(reader.uint64());
    return true;
  });
  return found;
}

const hex = (id: bigint | undefined) => (id ?? 0n).toString(16);

export function readRecord(bytes: Uint8Array): WalRecord {
  const record = { type: 0, crc: 0, data: NOTHING };
  message(bytes, (reader, field) => {
    if (field === 1) record.type = Number(reader.int64());
    else if (field === 2) record.crc = reader.uint32();
    else if (field === 3) record.data = reader.bytes();
    else return false;
    return true;
  });
  return record;
}

export function readMetadata(bytes: Uint8Array): { memberID: string; clusterID: string } {
  const [, member, cluster] = numbers(bytes, 2);
  return { memberID: hex(member), clusterID: hex(cluster) };
}

export function readHardState(bytes: Uint8Array): HardState {
  const [, term, vote, commit] = numbers(bytes, 3);
  return { term: Number(term), vote: hex(vote), commit: Number(commit) };
}

/** The type of an entry comes first, then term and index; what it holds stands behind. */
export function readEntry(bytes: Uint8Array): LogPosition {
  const [, , term, index] = numbers(bytes, 3);
  return { term: Number(term), index: Number(index) };
}

export function readSnapshot(bytes: Uint8Array): LogPosition {
  const [, index, term] = numbers(bytes, 2);
  return { term: Number(term), index: Number(index) };
}

/** A file of a raft snapshot: a checksum and what it is of. */
export function readSnapshotFile(bytes: Uint8Array): { crc: number; data: Uint8Array } {
  const file = { crc: 0, data: NOTHING };
  message(bytes, (reader, field) => {
    if (field === 1) file.crc = reader.uint32();
    else if (field === 2) file.data = reader.bytes();
    else return false;
    return true;
  });
  return file;
}
