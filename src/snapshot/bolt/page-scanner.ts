/**
 * Reads a bbolt database while it streams by, and keeps a summary of each page instead of the page. Free pages hold
 * what was true once, and overflow holds values that may look like pages; neither can be told from live ones before the
 * end. So every page that could be one is summed up, and `resolve.ts` then follows the tree from its root (R57).
 */
import {
  BRANCH_ELEMENT,
  BRANCH_PAGE,
  BUCKET_ELEMENT,
  BUCKET_HEADER,
  DatabaseError,
  LARGEST_PAGE_SIZE,
  LEAF_ELEMENT,
  LEAF_PAGE,
  PAGE_HEADER,
  readMeta,
  type Meta,
} from "./format.ts";
import { addMark, MARK_BYTES, type Marks } from "./marks.ts";
import { Numbers } from "./numbers.ts";

/** Eight bytes each: beyond this, keys are not counted. A database of 8 GB with values of 2 kB has as many. */
export const MOST_RECORDS = 4 * 1024 * 1024;
/** A page with its overflow: etcd takes requests of 1.5 MiB unless told otherwise. */
const LONGEST_PAGE = 32 * 1024 * 1024;
/** All pages that wait for the rest of their overflow. */
const MOST_WAITING_BYTES = 64 * 1024 * 1024;
/** Pages that list buckets. etcd has one live list, of a dozen buckets. */
const MOST_BUCKET_PAGES = 4096;

/** Revisions are 17 bytes, `main_sub`, with a "t" behind for a deletion. */
const REVISION_BYTES = 17;
const UNDERSCORE = 0x5f;
/** Field 1 of KeyValue, the key, which etcd writes first. */
const KEY_FIELD = 0x0a;

export const PageKind = {
  absent: 0,
  branch: 1,
  /** Revisions, with a hash of each key. */
  keys: 2,
  /** Revisions whose keys were too many to keep. */
  revisions: 3,
  other: 4,
  buckets: 5,
  /** Its header fits, its content does not. */
  damaged: 6,
} as const;
export type PageKind = (typeof PageKind)[keyof typeof PageKind];

/** What is known of one page; `at` is where its numbers are in the list. */
export interface PageSummary {
  readonly kind: PageKind;
  readonly at: number;
  readonly count: number;
}

export interface BucketEntry {
  readonly name: string;
  /** Its root page, or the page itself when it lies in the list of buckets. */
  readonly root: number | PageSummary;
  /** Of an inline bucket. */
  readonly marks?: Marks;
}

interface Waiting {
  readonly page: number;
  readonly bytes: Uint8Array;
  filled: number;
}

export class PageScanner {
  readonly numbers = new Numbers();
  /** Bucket lists by page. */
  readonly buckets = new Map<number, readonly BucketEntry[]>();
  /** Marks by page: leaves of the buckets "meta" and "auth" have some. */
  readonly marks = new Map<number, Marks>();
  readonly #mostRecords: number;
  #meta: Meta | undefined;
  #kinds = new Uint8Array(1024);
  #at = new Uint32Array(1024);
  #counts = new Uint16Array(1024);
  #page = 0;
  #bytes = 0;
  #records = 0;
  #waiting: Waiting[] = [];
  #waitingBytes = 0;
  #lastMarks: Marks | undefined;

  constructor(options: { mostRecords?: number } = {}) {
    this.#mostRecords = options.mostRecords ?? MOST_RECORDS;
  }

  get meta(): Meta | undefined {
    return this.#meta;
  }

  /** Whole pages scanned. */
  get pages(): number {
    return this.#page;
  }

  /** Takes the next block. All but the last are a multiple of 64 KiB long and begin at a multiple of four. */
  push(block: Uint8Array): void {
    if (this.#bytes === 0) {
      this.#meta = readMeta(block);
      const size = this.#meta?.pageSize ?? 0;
      if (size < 512 || size > LARGEST_PAGE_SIZE || (size & (size - 1)) !== 0)
        throw new DatabaseError("it does not begin like an etcd database (no valid bbolt meta page)");
    }
    this.#bytes += block.length;
    this.#continueWaiting(block);
    const pageSize = this.#meta?.pageSize ?? LARGEST_PAGE_SIZE;
    const words = new Uint32Array(block.buffer, block.byteOffset, block.length >>> 2);
    for (let at = 0; at + pageSize <= block.length; at += pageSize, this.#page++) {
      const word = at >>> 2;
      if (words[word] !== this.#page >>> 0 || words[word + 1] !== 0) continue;
      const flags = (words[word + 2] ?? 0) & 0xffff;
      if (flags !== LEAF_PAGE && flags !== BRANCH_PAGE) continue;
      const length = (1 + (words[word + 3] ?? 0)) * pageSize;
      if (at + length <= block.length) this.#keep(this.#page, this.#sum(block, words, at, at + length));
      else this.#wait(this.#page, block.subarray(at), length);
    }
  }

  summary(page: number): PageSummary {
    return {
      kind: (this.#kinds[page] ?? PageKind.absent) as PageKind,
      at: this.#at[page] ?? 0,
      count: this.#counts[page] ?? 0,
    };
  }

  #wait(page: number, begin: Uint8Array, length: number): void {
    if (length > LONGEST_PAGE || this.#waitingBytes + length > MOST_WAITING_BYTES) {
      this.#keep(page, { kind: PageKind.damaged, at: 0, count: 0 });
      return;
    }
    const bytes = new Uint8Array(length);
    bytes.set(begin);
    this.#waiting.push({ page, bytes, filled: begin.length });
    this.#waitingBytes += length;
  }

  #continueWaiting(block: Uint8Array): void {
    if (this.#waiting.length === 0) return;
    for (const one of this.#waiting) {
      const part = block.subarray(0, one.bytes.length - one.filled);
      one.bytes.set(part, one.filled);
      one.filled += part.length;
      if (one.filled < one.bytes.length) continue;
      this.#waitingBytes -= one.bytes.length;
      const words = new Uint32Array(one.bytes.buffer);
      this.#keep(one.page, this.#sum(one.bytes, words, 0, one.bytes.length), one.page);
    }
    this.#waiting = this.#waiting.filter((one) => one.filled < one.bytes.length);
  }

  #keep(page: number, { kind, at, count }: PageSummary, bucketsOf = page): void {
    if (page >= this.#kinds.length) {
      const room = Math.max(this.#kinds.length * 2, page + 1);
      this.#kinds = grown(this.#kinds, new Uint8Array(room));
      this.#at = grown(this.#at, new Uint32Array(room));
      this.#counts = grown(this.#counts, new Uint16Array(room));
    }
    this.#kinds[page] = kind;
    this.#at[page] = at;
    this.#counts[page] = count;
    if (kind === PageKind.buckets && this.#list !== undefined && this.buckets.size < MOST_BUCKET_PAGES)
      this.buckets.set(bucketsOf, this.#list);
    if (kind === PageKind.other && this.#lastMarks !== undefined) this.marks.set(page, this.#lastMarks);
  }

  #list: BucketEntry[] | undefined;

  #sum(bytes: Uint8Array, words: Uint32Array, start: number, end: number): PageSummary {
    this.#list = undefined;
    this.#lastMarks = undefined;
    const flagsAndCount = words[(start >>> 2) + 2] ?? 0;
    const count = flagsAndCount >>> 16;
    const body = start + PAGE_HEADER;
    const damaged: PageSummary = { kind: PageKind.damaged, at: 0, count };
    if (body + count * LEAF_ELEMENT > end) return damaged;
    if ((flagsAndCount & 0xffff) === BRANCH_PAGE) return this.#sumBranch(words, body, count);
    if (count === 0) return { kind: PageKind.other, at: 0, count };
    const first = body + (words[(body >>> 2) + 1] ?? 0);
    const keySize = words[(body >>> 2) + 2] ?? 0;
    if (((words[body >>> 2] ?? 0) & BUCKET_ELEMENT) !== 0)
      return this.#sumBuckets(bytes, words, body, count, end) ?? damaged;
    if ((keySize === REVISION_BYTES || keySize === REVISION_BYTES + 1) && bytes[first + 8] === UNDERSCORE) {
      const revisions = this.#sumRevisions(bytes, words, body, count, end);
      if (revisions !== undefined) return revisions;
    }
    return this.#sumOther(bytes, words, body, count, end) ? { kind: PageKind.other, at: 0, count } : damaged;
  }

  #sumBranch(words: Uint32Array, body: number, count: number): PageSummary {
    const at = this.numbers.length;
    for (let i = 0, word = body >>> 2; i < count; i++, word += BRANCH_ELEMENT >>> 2) {
      // A page beyond 2^32 would be one of a database of 16 TiB.
      this.numbers.push(words[word + 3] === 0 ? (words[word + 2] ?? 0) : 0);
    }
    return { kind: PageKind.branch, at, count };
  }

  /** For each record the hash of its key, whose lowest bit says that it is a deletion; last the latest revision. */
  #sumRevisions(
    bytes: Uint8Array,
    words: Uint32Array,
    body: number,
    count: number,
    end: number,
  ): PageSummary | undefined {
    const at = this.numbers.length;
    const hashed = this.#records + count <= this.#mostRecords;
    let key = 0;
    for (let i = 0, element = body; i < count; i++, element += LEAF_ELEMENT) {
      const word = element >>> 2;
      key = element + (words[word + 1] ?? 0);
      const keySize = words[word + 2] ?? 0;
      const value = key + keySize;
      const valueEnd = value + (words[word + 3] ?? 0);
      const isRevision = keySize === REVISION_BYTES || keySize === REVISION_BYTES + 1;
      // Where the revision was raised by a restore, etcdutl has left a record without a key (R24).
      const isEmpty = valueEnd === value;
      if (words[word] !== 0 || !isRevision || valueEnd > end || (!isEmpty && bytes[value] !== KEY_FIELD)) {
        this.numbers.truncate(at);
        return undefined;
      }
      if (hashed && isEmpty) this.#pushHash(0, 0, true);
      else if (hashed && !this.#hashKey(bytes, value + 1, valueEnd, keySize > REVISION_BYTES)) {
        this.numbers.truncate(at);
        return undefined;
      }
    }
    if (hashed) this.#records += count;
    this.numbers.push(bigEndian(bytes, key + 4));
    this.numbers.push(bigEndian(bytes, key));
    return { kind: hashed ? PageKind.keys : PageKind.revisions, at, count };
  }

  #hashKey(bytes: Uint8Array, lengthAt: number, limit: number, deleted: boolean): boolean {
    let length = 0;
    let at = lengthAt;
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[at++] ?? 0;
      length |= (byte & 0x7f) << shift;
      if (byte < 0x80) break;
      if (shift > 21) return false;
    }
    const end = at + length;
    if (end > limit) return false;
    let a = 0x811c9dc5 | 0;
    let b = 0x2545f491 | 0;
    for (; at < end; at++) {
      const byte = bytes[at] ?? 0;
      a = Math.imul(a ^ byte, 0x01000193);
      b = Math.imul(((b << 5) | (b >>> 27)) ^ byte, 0x27220a95);
    }
    this.#pushHash(a ^ length, b, deleted);
    return true;
  }

  #pushHash(a: number, b: number, deleted: boolean): void {
    this.numbers.push(((mixed(a) & ~1) | (deleted ? 1 : 0)) >>> 0);
    this.numbers.push(mixed(b) >>> 0);
  }

  #sumBuckets(
    bytes: Uint8Array,
    words: Uint32Array,
    body: number,
    count: number,
    end: number,
  ): PageSummary | undefined {
    const list: BucketEntry[] = [];
    for (let i = 0, element = body; i < count; i++, element += LEAF_ELEMENT) {
      const word = element >>> 2;
      const key = element + (words[word + 1] ?? 0);
      const value = key + (words[word + 2] ?? 0);
      const valueEnd = value + (words[word + 3] ?? 0);
      if (((words[word] ?? 0) & BUCKET_ELEMENT) === 0 || valueEnd > end || valueEnd < value + BUCKET_HEADER)
        return undefined;
      const name = Buffer.from(bytes.buffer, bytes.byteOffset + key, value - key).toString("utf8");
      const root = new DataView(bytes.buffer, bytes.byteOffset + value, 8).getBigUint64(0, true);
      if (root !== 0n) list.push({ name, root: Number(root) });
      else {
        // A copy, since an inline page begins anywhere.
        const inline = new Uint8Array(bytes.subarray(value + BUCKET_HEADER, valueEnd));
        if (inline.length < PAGE_HEADER) return undefined;
        const root = this.#sum(
          inline,
          new Uint32Array(inline.buffer, 0, inline.length >>> 2),
          0,
          inline.length,
        );
        const marks = this.#lastMarks;
        list.push({ name, root, ...(marks !== undefined && { marks }) });
      }
    }
    this.#list = list;
    return { kind: PageKind.buckets, at: 0, count };
  }

  #sumOther(bytes: Uint8Array, words: Uint32Array, body: number, count: number, end: number): boolean {
    this.#lastMarks = undefined;
    for (let i = 0, element = body; i < count; i++, element += LEAF_ELEMENT) {
      const word = element >>> 2;
      const key = element + (words[word + 1] ?? 0);
      const value = key + (words[word + 2] ?? 0);
      const valueEnd = value + (words[word + 3] ?? 0);
      if (valueEnd > end) return false;
      if (MARK_BYTES.has(value - key))
        this.#lastMarks = addMark(
          this.#lastMarks,
          bytes.subarray(key, value),
          bytes.subarray(value, valueEnd),
        );
    }
    return true;
  }
}

function grown<T extends Uint8Array | Uint16Array | Uint32Array>(old: T, larger: T): T {
  larger.set(old);
  return larger;
}

function bigEndian(bytes: Uint8Array, at: number): number {
  return (
    (((bytes[at] ?? 0) << 24) |
      ((bytes[at + 1] ?? 0) << 16) |
      ((bytes[at + 2] ?? 0) << 8) |
      (bytes[at + 3] ?? 0)) >>>
    0
  );
}

/** Spreads every bit over all of them (the end of MurmurHash3). */
function mixed(hash: number): number {
  let h = hash ^ (hash >>> 16);
  h = Math.imul(h, 0x85ebca6b);
  h ^= h >>> 13;
  h = Math.imul(h, 0xc2b2ae35);
  return h ^ (h >>> 16);
}
