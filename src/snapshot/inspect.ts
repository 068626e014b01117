/**
 * Everything that can be told of a plain etcd snapshot from one pass over its bytes: its length, its hash, whether the
 * hash at its end matches (R23), and what the database in it holds (R57).
 */
import { createHash } from "node:crypto";
import { inBlocks } from "./blocks.ts";
import { DatabaseError } from "./bolt/format.ts";
import { PageScanner } from "./bolt/page-scanner.ts";
import { resolveDatabase, type DatabaseFacts } from "./bolt/resolve.ts";

const HASH_BYTES = 32;

/** The bytes are not a whole etcd snapshot. */
export class SnapshotDamaged extends Error {
  override name = "SnapshotDamaged";
}

/** A database without the hash that etcd puts at the end of a snapshot: whether it is whole cannot be told. */
export class SnapshotUnhashed extends SnapshotDamaged {
  override name = "SnapshotUnhashed";
}

export interface SnapshotFacts {
  /** Bytes of the file, the hash at its end included. */
  readonly size: number;
  /** SHA-256 of the whole file, as `sha256sum` prints it. */
  readonly sha256: string;
  readonly database: DatabaseFacts;
}

export class Inspection {
  readonly #hash = createHash("sha256");
  readonly #scanner = new PageScanner();
  readonly #tail = Buffer.alloc(HASH_BYTES);
  #tailLength = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The next block of `inBlocks`. */
  update(block: Uint8Array): void {
    this.#scanner.push(block);
    this.#size += block.length;
    const kept = this.#tail.subarray(0, this.#tailLength);
    if (block.length >= HASH_BYTES) {
      this.#hash.update(kept);
      this.#hash.update(block.subarray(0, block.length - HASH_BYTES));
      this.#tail.set(block.subarray(block.length - HASH_BYTES));
      this.#tailLength = HASH_BYTES;
      return;
    }
    const joined = Buffer.concat([kept, block]);
    const settled = Math.max(0, joined.length - HASH_BYTES);
    this.#hash.update(joined.subarray(0, settled));
    joined.copy(this.#tail, 0, settled);
    this.#tailLength = joined.length - settled;
  }

  /** After the last block. Throws `SnapshotDamaged` unless the snapshot is whole. */
  finish(): SnapshotFacts {
    const tail = this.#tail.subarray(0, this.#tailLength);
    const content = this.#hash.copy().digest();
    const pageSize = this.#scanner.meta?.pageSize ?? 0;
    if (pageSize > 0 && this.#size % pageSize === 0)
      throw new SnapshotUnhashed(
        "there is no hash at its end: it is a copied database file (member/snap/db), not a snapshot, or it is cut off",
      );
    if (!content.equals(tail))
      throw new SnapshotDamaged(`the SHA-256 at its end does not match its content (${this.#size} bytes)`);
    const sha256 = this.#hash.update(tail).digest("hex");
    const database = resolved(this.#scanner);
    if (this.#size !== database.size + HASH_BYTES)
      throw new SnapshotDamaged(
        `it has ${this.#size} bytes, and its database says ${database.size + HASH_BYTES}`,
      );
    return { size: this.#size, sha256, database };
  }
}

function resolved(scanner: PageScanner): DatabaseFacts {
  try {
    return resolveDatabase(scanner);
  } catch (error) {
    if (error instanceof DatabaseError)
      throw new SnapshotDamaged(`its database is damaged: ${error.message}`, { cause: error });
    throw error;
  }
}

/** Passes a snapshot's bytes on, in blocks; `facts` are there after the last one, and an error ends a damaged one. */
export class InspectedSnapshot implements AsyncIterable<Uint8Array> {
  readonly #chunks: AsyncIterable<Uint8Array>;
  readonly #onBlock: (size: number) => void;
  #facts: SnapshotFacts | undefined;

  constructor(chunks: AsyncIterable<Uint8Array>, onBlock: (size: number) => void = () => undefined) {
    this.#chunks = chunks;
    this.#onBlock = onBlock;
  }

  get facts(): SnapshotFacts | undefined {
    return this.#facts;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    const inspection = new Inspection();
    for await (const block of inBlocks(this.#chunks)) {
      try {
        inspection.update(block);
      } catch (error) {
        if (error instanceof DatabaseError) throw new SnapshotDamaged(error.message, { cause: error });
        throw error;
      }
      yield block;
      this.#onBlock(inspection.size);
    }
    this.#facts = inspection.finish();
  }
}

/** Reads a snapshot to its end and keeps nothing of it. */
export async function inspectSnapshot(chunks: AsyncIterable<Uint8Array>): Promise<SnapshotFacts> {
  const snapshot = new InspectedSnapshot(chunks);
  for await (const _ of snapshot);
  if (snapshot.facts === undefined) throw new SnapshotDamaged("it is empty");
  return snapshot.facts;
}
