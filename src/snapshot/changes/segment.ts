/**
 * A segment of a change log: one object with the changes of successive revisions, whole or not there at all.
 *
 *   "QCHANGES" (8) | length of the header (4) | header (JSON) | records | SHA-256 of all before it (32)
 *
 * It is compressed and encrypted as snapshots are. Whatever does not fit (hash, name, cluster, order of revisions) is an
 * error that names the segment: a log is replayed exactly or not at all.
 */
import { createHash } from "node:crypto";
import type { Random } from "../../seams/random.ts";
import { decode, encode, type Encoding } from "../codec/codec.ts";
import { SnapshotDamaged } from "../inspect.ts";
import type { Decryption } from "../read.ts";
import type { Store } from "../store/store.ts";
import type { AuthState } from "./auth.ts";
import { ChangeLogError } from "./errors.ts";
import { parseLogName, segmentName } from "./names.ts";
import {
  decodeRecords,
  encodeRecord,
  type LeaseRecord,
  type LogRecord,
  type RevisionRecord,
} from "./record.ts";

export const SEGMENT_FORMAT = 1;
const MAGIC = Buffer.from("QCHANGES");
const HASH_BYTES = 32;
/** A reader holds one segment in memory; a writer ends one long before. */
const MOST_BYTES = 1024 * 1024 * 1024;

/** Users, roles and the switch are these all the time from the base to the end of the segment. */
export interface SegmentHeader extends AuthState {
  readonly format: typeof SEGMENT_FORMAT;
  /** Lower-case hexadecimal, as in manifests. */
  readonly clusterId: string;
  /** The snapshot that this stretch of the log began with. */
  readonly base: string;
  /** Its first revision is the next one. */
  readonly after: number;
  readonly last: number;
  /** When the first and the last of them were received, in ISO 8601. */
  readonly firstTime: string;
  readonly lastTime: string;
  /** From when on the follower has received changes as they came. Before, it was not there. */
  readonly since: string;
}

export interface Segment {
  readonly header: SegmentHeader;
  readonly records: readonly LogRecord[];
}

export type SegmentPlace = Pick<SegmentHeader, "clusterId" | "base" | "since" | keyof AuthState>;

/** Collects records until they are written. */
export class SegmentDraft {
  readonly after: number;
  readonly #parts: Buffer[] = [];
  readonly #leases = new Set<bigint>();
  #bytes = 0;
  #first: number | undefined;
  #lastTime = 0;
  #last: number;

  constructor(after: number) {
    this.after = after;
    this.#last = after;
  }

  get bytes(): number {
    return this.#bytes;
  }
  get last(): number {
    return this.#last;
  }
  get lastTime(): number {
    return this.#lastTime;
  }
  /** When the first of its revisions was received; undefined while there is none. */
  get firstTime(): number | undefined {
    return this.#first;
  }

  /** Leases come before the revisions that need them, once for each segment: so each can be read by itself. */
  add(record: RevisionRecord, leases: readonly LeaseRecord[]): void {
    if (record.revision !== this.#last + 1)
      throw new RangeError(`revision ${record.revision} does not follow ${this.#last}`);
    for (const lease of leases) {
      if (this.#leases.has(lease.id)) continue;
      this.#leases.add(lease.id);
      this.#push(encodeRecord(lease));
    }
    this.#push(encodeRecord(record));
    this.#first ??= record.time;
    this.#lastTime = record.time;
    this.#last = record.revision;
  }

  #push(bytes: Buffer): void {
    this.#parts.push(bytes);
    this.#bytes += bytes.length;
  }

  header(place: SegmentPlace): SegmentHeader {
    return {
      format: SEGMENT_FORMAT,
      clusterId: place.clusterId,
      base: place.base,
      authRevision: place.authRevision,
      authEnabled: place.authEnabled,
      after: this.after,
      last: this.#last,
      firstTime: new Date(this.#first ?? 0).toISOString(),
      lastTime: new Date(this.#lastTime).toISOString(),
      since: place.since,
    };
  }

  *chunks(place: SegmentPlace): Generator<Uint8Array> {
    const hash = createHash("sha256");
    const header = Buffer.from(JSON.stringify(this.header(place)));
    const length = Buffer.alloc(4);
    length.writeUInt32BE(header.length);
    for (const part of [Buffer.concat([MAGIC, length, header]), ...this.#parts]) {
      hash.update(part);
      yield part;
    }
    yield hash.digest();
  }
}

/** Refused with "exists" where another follower has written it. Returns the object's name. */
export async function writeSegment(
  store: Store,
  draft: SegmentDraft,
  place: SegmentPlace,
  { compression, key, random, signal }: Encoding & { random: Random; signal: AbortSignal },
): Promise<string> {
  const name = segmentName(place.clusterId, draft.after + 1);
  const plain = async function* (): AsyncGenerator<Uint8Array> {
    for (const chunk of draft.chunks(place)) yield await Promise.resolve(chunk);
  };
  await store.put(name, encode(plain(), { compression, key }, random), { signal, ifAbsent: true });
  return name;
}

export interface ReadSegmentOptions extends Decryption {
  readonly store: Store;
  readonly name: string;
  readonly signal: AbortSignal;
}

/** Read to its end and checked by itself; how it follows its neighbours is for the caller. */
export async function readSegment(options: ReadSegmentOptions): Promise<Segment> {
  const where = `${options.store.uri}${options.name}`;
  try {
    return parseSegment(await readBytes(options), options.name);
  } catch (error) {
    if (error instanceof RangeError || error instanceof SyntaxError || error instanceof SnapshotDamaged)
      throw new ChangeLogError(
        "damaged",
        `the segment ${where} of the change log is damaged: ${error.message}. Points before it can be restored, and points after a later snapshot.`,
        { cause: error },
      );
    throw error;
  }
}

async function readBytes({ store, name, key, encrypted, signal }: ReadSegmentOptions): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  let size = 0;
  const ifPlain = encrypted
    ? new SnapshotDamaged("it is not encrypted, and a key was given: it may have been replaced")
    : undefined;
  for await (const part of decode(store.get(name, { signal }), key, ifPlain)) {
    size += part.length;
    if (size > MOST_BYTES) throw new RangeError(`it is longer than ${MOST_BYTES} bytes`);
    parts.push(new Uint8Array(part));
  }
  return Buffer.concat(parts);
}

function parseSegment(bytes: Buffer, name: string): Segment {
  const content = bytes.subarray(0, Math.max(0, bytes.length - HASH_BYTES));
  const begin = MAGIC.length + 4;
  if (content.length < begin || !content.subarray(0, MAGIC.length).equals(MAGIC))
    throw new RangeError("it does not begin like a segment, or is cut off");
  if (!createHash("sha256").update(content).digest().equals(bytes.subarray(content.length)))
    throw new RangeError("the SHA-256 at its end does not match its content");
  const end = begin + content.readUInt32BE(MAGIC.length);
  const header = parseHeader(content.subarray(begin, end).toString("utf8"));
  const records = [...decodeRecords(content.subarray(end))];
  let last = header.after;
  for (const record of records) {
    if (record.kind === "lease") continue;
    if (record.revision !== last + 1)
      throw new RangeError(`revision ${record.revision} follows ${last} in it`);
    last = record.revision;
  }
  if (last !== header.last) throw new RangeError(`it ends with revision ${last} instead of ${header.last}`);
  const named = parseLogName(name);
  if (named?.clusterId !== header.clusterId || named.revision !== header.after + 1)
    throw new RangeError(
      `it holds revisions from ${header.after + 1} of cluster ${header.clusterId}, which its name does not say`,
    );
  return { header, records };
}

function parseHeader(text: string): SegmentHeader {
  const header = JSON.parse(text) as Partial<Record<keyof SegmentHeader, unknown>>;
  if (header.format !== SEGMENT_FORMAT)
    throw new ChangeLogError(
      "unsupported",
      `the change log has format ${JSON.stringify(header.format)}, and this version of quorate reads ${SEGMENT_FORMAT}: use a newer one`,
    );
  const texts = [header.clusterId, header.base, header.firstTime, header.lastTime, header.since];
  const numbers = [header.authRevision, header.after, header.last];
  const fits =
    texts.every((one) => typeof one === "string") &&
    numbers.every((one) => Number.isSafeInteger(one)) &&
    typeof header.authEnabled === "boolean";
  if (!fits) throw new RangeError("its header is not valid");
  return header as SegmentHeader;
}
