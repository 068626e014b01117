/**
 * The file format of bbolt, as far as a reader of snapshots needs it: page headers, the two meta pages, and
 * elements. Numbers are little-endian; a page begins with its own number.
 */

export const PAGE_HEADER = 16;
export const BRANCH_ELEMENT = 16;
export const LEAF_ELEMENT = 16;
/** A bucket's value: its root page and a sequence; a small bucket's only page follows at once. */
export const BUCKET_HEADER = 16;

export const BRANCH_PAGE = 0x01;
export const LEAF_PAGE = 0x02;
/** Of a leaf's element: its value is a bucket. */
export const BUCKET_ELEMENT = 0x01;

const MAGIC = 0xed0cdaed;
const VERSION = 2;
/** Of the meta structure, up to its checksum. */
const META_BYTES = 56;
const PAGE_SIZES = [4096, 512, 1024, 2048, 8192, 16_384, 32_768, 65_536] as const;
export const LARGEST_PAGE_SIZE = 65_536;

export interface Meta {
  readonly pageSize: number;
  /** The page where the list of buckets begins. */
  readonly root: number;
  /** Pages that belong to the database. */
  readonly pages: number;
  readonly txid: number;
}

/** The valid meta page of the latest transaction; undefined when the bytes do not begin a database. */
export function readMeta(start: Uint8Array): Meta | undefined {
  const first = metaAt(start, 0);
  const second = first
    ? metaAt(start, first.pageSize)
    : PAGE_SIZES.map((size) => metaAt(start, size)).find(
        (meta, index) => meta?.pageSize === PAGE_SIZES[index],
      );
  if (first === undefined || second === undefined) return first ?? second;
  return second.txid > first.txid ? second : first;
}

function metaAt(bytes: Uint8Array, page: number): Meta | undefined {
  const at = page + PAGE_HEADER;
  if (bytes.length < at + META_BYTES + 8) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset + at, META_BYTES + 8);
  if (view.getUint32(0, true) !== MAGIC || view.getUint32(4, true) !== VERSION) return undefined;
  if (view.getBigUint64(META_BYTES, true) !== fnv64a(bytes.subarray(at, at + META_BYTES))) return undefined;
  return {
    pageSize: view.getUint32(8, true),
    root: Number(view.getBigUint64(16, true)),
    pages: Number(view.getBigUint64(40, true)),
    txid: Number(view.getBigUint64(48, true)),
  };
}

function fnv64a(bytes: Uint8Array): bigint {
  let hash = 0xcbf29ce484222325n;
  for (const byte of bytes) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  return hash;
}

/** Why the bytes are not a whole database. */
export class DatabaseError extends Error {
  override name = "DatabaseError";
}
