import assert from "node:assert/strict";
import { test } from "node:test";
import { create, toBinary } from "@bufbuild/protobuf";
import fc from "fast-check";
import { encodeFrame } from "./grpc/frame.ts";
import { Maintenance } from "./proto/rpc_pb.ts";
import { BLOCK_BYTES, SnapshotBlocks } from "./snapshot-blocks.ts";

const schema = Maintenance.method.snapshot.output;

function wireOf(database: Uint8Array, messageBytes: number): Buffer {
  const frames: Uint8Array[] = [];
  for (let at = 0; at < database.length; at += messageBytes) {
    const blob = database.subarray(at, at + messageBytes);
    const remainingBytes = BigInt(database.length - at - blob.length);
    frames.push(encodeFrame(toBinary(schema, create(schema, { blob, remainingBytes, version: "3.6.16" }))));
  }
  return Buffer.concat(frames);
}

test("blocks are whole but for the last, and each keeps its bytes until the next but one is asked for", () => {
  const database = Buffer.alloc(3 * BLOCK_BYTES + 12_344);
  for (let at = 0; at < database.length; at += 4) database.writeUInt32LE(at, at);
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 3 * BLOCK_BYTES }),
      fc.integer({ min: 1_000, max: 2 * BLOCK_BYTES }),
      fc.integer({ min: 10_000, max: 400_000 }),
      (length, messageBytes, chunkBytes) => {
        const sent = database.subarray(0, length);
        const wire = wireOf(sent, messageBytes);
        let heard = 0;
        const blocks = new SnapshotBlocks(() => heard++);
        const read: Buffer[] = [];
        const held: Uint8Array[] = [];
        const take = (block: Uint8Array) => {
          held.push(block);
          if (held.length < 3) return;
          const done = held.shift() ?? block;
          read.push(Buffer.from(done));
          blocks.release(done);
        };
        for (let at = 0; at < wire.length; at += chunkBytes)
          blocks.push(wire.subarray(at, at + chunkBytes)).forEach(take);
        blocks.rest().forEach(take);
        const all = [...read, ...held];
        assert.ok(all.slice(0, -1).every((block) => block.length === BLOCK_BYTES));
        assert.ok(Buffer.concat(all).equals(sent));
        assert.deepEqual(
          [blocks.announced, blocks.version, blocks.pending, heard],
          [length, "3.6.16", false, Math.ceil(wire.length / chunkBytes)],
        );
      },
    ),
    { numRuns: 30 },
  );
});

test("a stream of any length costs the same memory", () => {
  const wire = wireOf(Buffer.alloc(4 * BLOCK_BYTES), 32_768);
  const blocks = new SnapshotBlocks();
  const buffers = new Set<ArrayBufferLike>();
  for (let turn = 0; turn < 5; turn++)
    for (const block of blocks.push(wire)) {
      buffers.add(block.buffer);
      blocks.release(block);
    }
  assert.ok(buffers.size <= 5, `${buffers.size} buffers`);
});
