/**
 * What a change log records: all changes of one revision together, with the time at which they were received, and the
 * leases that their keys hang on. One record is one frame of bytes:
 *
 *   type (1) | length of the rest (4) | rest
 *   "L"  lease ID (8) | granted TTL in seconds (8), 0 where the lease was gone before it could be read
 *   "R"  revision (8) | received, in milliseconds since the epoch (8) | number of changes (4) | changes
 *   a change: 0 for a deletion, 1 for a put (1) | length of the key (4) | key, and for a put
 *             length of the value (4) | value | create revision (8) | version (8) | lease ID (8)
 *
 * Numbers are big-endian. The order of changes is that of etcd's sub-revisions.
 */
import type { WatchEvent } from "../../etcd/watch.ts";

export interface PutChange {
  readonly type: "put";
  readonly key: Uint8Array;
  readonly value: Uint8Array;
  readonly createRevision: number;
  /** 1 for a key that was not there before. */
  readonly version: number;
  /** 0n without one. */
  readonly lease: bigint;
}

export type Change = PutChange | { readonly type: "delete"; readonly key: Uint8Array };

export interface RevisionRecord {
  readonly kind: "revision";
  readonly revision: number;
  /** When all of it had been received, in milliseconds since the epoch. */
  readonly time: number;
  readonly changes: readonly Change[];
}

export interface LeaseRecord {
  readonly kind: "lease";
  readonly id: bigint;
  /** Seconds, as it was granted; 0 where nobody knows any more. */
  readonly ttl: number;
}

export type LogRecord = RevisionRecord | LeaseRecord;

const LEASE = 0x4c;
const REVISION = 0x52;
const FRAME_BYTES = 5;
const PUT_BYTES = 1 + 4 + 4 + 3 * 8;

export function toChange({ type, kv }: WatchEvent): Change {
  return type === "delete"
    ? { type, key: kv.key }
    : {
        type,
        key: kv.key,
        value: kv.value,
        createRevision: Number(kv.createRevision),
        version: Number(kv.version),
        lease: kv.lease,
      };
}

/** About what a record takes as bytes. */
export function changeBytes(change: Change): number {
  return change.key.length + (change.type === "put" ? change.value.length + PUT_BYTES : 5);
}

export function encodeRecord(record: LogRecord): Buffer {
  if (record.kind === "lease") {
    const bytes = Buffer.alloc(FRAME_BYTES + 16);
    bytes.writeUInt8(LEASE, 0);
    bytes.writeUInt32BE(16, 1);
    bytes.writeBigInt64BE(record.id, FRAME_BYTES);
    bytes.writeBigInt64BE(BigInt(record.ttl), FRAME_BYTES + 8);
    return bytes;
  }
  const length = 20 + record.changes.reduce((sum, change) => sum + changeBytes(change), 0);
  const bytes = Buffer.allocUnsafeSlow(FRAME_BYTES + length);
  bytes.writeUInt8(REVISION, 0);
  bytes.writeUInt32BE(length, 1);
  bytes.writeBigInt64BE(BigInt(record.revision), 5);
  bytes.writeBigInt64BE(BigInt(record.time), 13);
  bytes.writeUInt32BE(record.changes.length, 21);
  let at = 25;
  const append = (part: Uint8Array) => {
    at = bytes.writeUInt32BE(part.length, at);
    bytes.set(part, at);
    at += part.length;
  };
  for (const change of record.changes) {
    at = bytes.writeUInt8(change.type === "put" ? 1 : 0, at);
    append(change.key);
    if (change.type === "delete") continue;
    append(change.value);
    at = bytes.writeBigInt64BE(BigInt(change.createRevision), at);
    at = bytes.writeBigInt64BE(BigInt(change.version), at);
    at = bytes.writeBigInt64BE(change.lease, at);
  }
  return bytes;
}

/** All records in the bytes. Throws a `RangeError` where they are not frames from end to end. */
export function* decodeRecords(bytes: Buffer): Generator<LogRecord> {
  for (let at = 0; at < bytes.length;) {
    const type = bytes.readUInt8(at);
    const end = at + FRAME_BYTES + bytes.readUInt32BE(at + 1);
    if (end > bytes.length) throw new RangeError("a record is longer than what is left");
    const rest = bytes.subarray(at + FRAME_BYTES, end);
    if (type === LEASE && rest.length === 16)
      yield { kind: "lease", id: rest.readBigInt64BE(0), ttl: Number(rest.readBigInt64BE(8)) };
    else if (type === REVISION) yield decodeRevision(rest);
    else throw new RangeError(`there is no record of type ${type} and length ${rest.length}`);
    at = end;
  }
}

function decodeRevision(bytes: Buffer): RevisionRecord {
  const revision = Number(bytes.readBigInt64BE(0));
  const time = Number(bytes.readBigInt64BE(8));
  const count = bytes.readUInt32BE(16);
  const changes: Change[] = [];
  let at = 20;
  const take = (): Uint8Array => {
    const length = bytes.readUInt32BE(at);
    const part = bytes.subarray(at + 4, at + 4 + length);
    if (part.length !== length) throw new RangeError("a key or value is longer than its record");
    at += 4 + length;
    return part;
  };
  const number = (): bigint => {
    const value = bytes.readBigInt64BE(at);
    at += 8;
    return value;
  };
  for (let i = 0; i < count; i++) {
    const isPut = bytes.readUInt8(at++) === 1;
    const key = take();
    if (!isPut) changes.push({ type: "delete", key });
    else {
      const value = take();
      const [createRevision, version] = [Number(number()), Number(number())];
      changes.push({ type: "put", key, value, createRevision, version, lease: number() });
    }
  }
  if (at !== bytes.length) throw new RangeError("a record is longer than its changes");
  return { kind: "revision", revision, time, changes };
}
