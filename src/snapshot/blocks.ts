/**
 * Chunks of any length gathered into blocks of one size: one hash update, one scan and one write instead of sixteen. The
 * blocks are a few buffers used in turn, so a stream of any length costs the same memory. What comes in such blocks, as
 * from etcd, is passed on.
 */
import { BLOCK_BYTES } from "../etcd/snapshot-blocks.ts";

export { BLOCK_BYTES };
/** One being filled, one with the consumer, one that the consumer may still be writing. */
const BUFFERS = 3;

/** A block may be read until the next but one is asked for, as the chunks may. All but the last are full. */
export async function* inBlocks(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const ring: Uint8Array[] = [];
  let turn = 0;
  let block: Uint8Array | undefined;
  let filled = 0;
  for await (const chunk of chunks) {
    if (block === undefined && chunk.length === BLOCK_BYTES && chunk.byteOffset % 4 === 0) {
      yield chunk;
      continue;
    }
    for (let taken = 0; taken < chunk.length;) {
      if (block === undefined) {
        block = ring[turn] ??= Buffer.allocUnsafeSlow(BLOCK_BYTES);
        turn = (turn + 1) % BUFFERS;
        filled = 0;
      }
      const part = chunk.subarray(taken, taken + BLOCK_BYTES - filled);
      block.set(part, filled);
      filled += part.length;
      taken += part.length;
      if (filled < BLOCK_BYTES) continue;
      yield block;
      block = undefined;
    }
  }
  if (block !== undefined && filled > 0) yield block.subarray(0, filled);
}
