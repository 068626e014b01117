/** Writes records as etcd does: a length, the record, and padding to a multiple of eight bytes. */
import { BinaryWriter } from "@bufbuild/protobuf/wire";
import type { HardState } from "./messages.ts";

export function hardStateBytes({ term, vote, commit }: HardState): Uint8Array {
  const writer = new BinaryWriter()
    .uint32(8)
    .uint64(term)
    .uint32(16)
    .uint64(BigInt(`0x${vote}`));
  return writer.uint32(24).uint64(commit).finish();
}

export function frameOf({ type, crc, data }: { type: number; crc: number; data?: Uint8Array }): Uint8Array {
  const writer = new BinaryWriter().uint32(8).int64(type).uint32(16).uint32(crc);
  if (data !== undefined) writer.uint32(26).bytes(data);
  const record = writer.finish();
  const padding = (8 - (record.length % 8)) % 8;
  const frame = Buffer.alloc(8 + record.length + padding);
  frame.writeUInt32LE(record.length, 0);
  if (padding > 0) frame.writeUInt8(0x80 | padding, 7);
  frame.set(record, 8);
  return frame;
}
