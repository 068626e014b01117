/**
 * The database of a snapshot in blocks of one size, filled while the network's chunks arrive: what comes after them (a
 * promise, a hash, a write) is paid for once a block and not once a frame, of which a gigabyte has sixty thousand.
 */
import type { ChunkParser } from "../seams/etcd-transport.ts";
import { SnapshotFrames } from "./snapshot-frames.ts";

/** Small enough that what was just hashed is still in the processor's cache when it is written. */
export const BLOCK_BYTES = 256 * 1024;

export class SnapshotBlocks implements ChunkParser<Uint8Array> {
  readonly #frames = new SnapshotFrames();
  readonly #onChunk: () => void;
  /** Used again, so that a stream of any length costs the same memory. */
  readonly #free: Uint8Array[] = [];
  #block: Uint8Array | undefined;
  #filled = 0;

  constructor(onChunk: () => void = () => undefined) {
    this.#onChunk = onChunk;
  }

  get pending(): boolean {
    return this.#frames.pending;
  }

  get version(): string {
    return this.#frames.version;
  }

  get announced(): number | undefined {
    return this.#frames.announced;
  }

  /** The blocks that this chunk has filled. */
  push(chunk: Uint8Array): Uint8Array[] {
    this.#onChunk();
    const full: Uint8Array[] = [];
    for (const part of this.#frames.push(chunk)) {
      for (let taken = 0; taken < part.length;) {
        const block = (this.#block ??= this.#free.pop() ?? Buffer.allocUnsafeSlow(BLOCK_BYTES));
        const fits = part.subarray(taken, taken + BLOCK_BYTES - this.#filled);
        block.set(fits, this.#filled);
        this.#filled += fits.length;
        taken += fits.length;
        if (this.#filled < BLOCK_BYTES) continue;
        full.push(block);
        this.#block = undefined;
        this.#filled = 0;
      }
    }
    return full;
  }

  rest(): Uint8Array[] {
    return this.#block === undefined ? [] : [this.#block.subarray(0, this.#filled)];
  }

  /** Its bytes are not needed any more. */
  release(block: Uint8Array): void {
    if (block.length === BLOCK_BYTES) this.#free.push(block);
  }
}
