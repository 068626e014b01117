/**
 * One file of etcd's write-ahead log: frames of a length and a record, each with a checksum that continues that of the
 * record before. The last file ends in zeros that were allocated beforehand, or within a record when the machine lost
 * power; etcd cuts such a record off when it starts, and so does a reader.
 */
import type { Disk } from "../../seams/disk.ts";
import { crc32c } from "./crc32c.ts";
import { readRecord, RecordType, type WalRecord } from "./messages.ts";

export type SegmentEnd =
  | { readonly end: "clean"; readonly offset: number }
  /** The last record was not written whole: never acknowledged, and cut off by etcd at its start. */
  | { readonly end: "torn"; readonly offset: number }
  /** etcd does not start from it. */
  | { readonly end: "damaged"; readonly offset: number; readonly why: string };

const FRAME_HEADER = 8;
const BLOCK = 4 * 1024 * 1024;
const SECTOR = 512;
const KNOWN: ReadonlySet<number> = new Set(Object.values(RecordType));

export class SegmentReader {
  readonly #disk: Disk;
  readonly #onRecord: (record: WalRecord) => void;
  #crc = 0;

  /** Segments are read in their order: the checksum goes on from one to the next. */
  constructor(disk: Disk, onRecord: (record: WalRecord) => void) {
    this.#disk = disk;
    this.#onRecord = onRecord;
  }

  /** The checksum that the next record continues. */
  get crc(): number {
    return this.#crc;
  }

  async read(file: string, isLast: boolean): Promise<SegmentEnd> {
    const size = (await this.#disk.stat(file))?.size ?? 0;
    let block: Uint8Array = new Uint8Array(0);
    let blockAt = 0;
    /** Bytes of the file; fewer at its end. */
    const bytesAt = async (offset: number, length: number) => {
      if (offset < blockAt || offset + length > blockAt + block.length) {
        block = await this.#disk.readBytes(file, offset, Math.max(length, BLOCK));
        blockAt = offset;
      }
      return block.subarray(offset - blockAt, offset - blockAt + length);
    };
    for (let offset = 0; ;) {
      const header = await bytesAt(offset, FRAME_HEADER);
      if (header.length === 0) return { end: "clean", offset };
      if (header.length < FRAME_HEADER) return cutOff(offset, isLast);
      const { record, padding } = frameSize(header);
      if (record === 0 && padding === 0) return { end: "clean", offset };
      if (record + padding > size - offset - FRAME_HEADER) return cutOff(offset, isLast);
      const frame = await bytesAt(offset + FRAME_HEADER, record + padding);
      if (frame.length < record + padding) return cutOff(offset, isLast);
      const why = this.#take(frame.subarray(0, record));
      if (why !== undefined)
        return isLast && hasEmptySector(frame, offset + FRAME_HEADER)
          ? { end: "torn", offset }
          : { end: "damaged", offset, why };
      offset += FRAME_HEADER + record + padding;
    }
  }

  /** Why the record does not count. */
  #take(bytes: Uint8Array): string | undefined {
    let record: WalRecord;
    try {
      record = readRecord(bytes);
    } catch {
      return "it is not a record of a log";
    }
    if (!KNOWN.has(record.type)) return `it is of an unknown type (${record.type})`;
    if (record.type === RecordType.crc) {
      if (this.#crc !== 0 && record.crc !== this.#crc)
        return "its checksum does not continue that of the file before";
      this.#crc = record.crc;
      return undefined;
    }
    const crc = crc32c(record.data, this.#crc);
    if (crc !== record.crc) return "its checksum does not match its content";
    this.#crc = crc;
    try {
      this.#onRecord(record);
    } catch (error) {
      return `its content cannot be used (${error instanceof Error ? error.message : String(error)})`;
    }
    return undefined;
  }
}

/** The length is in the lower 56 bits; a set sign says that the top byte holds the padding. */
function frameSize(header: Uint8Array): { record: number; padding: number } {
  const view = new DataView(header.buffer, header.byteOffset, FRAME_HEADER);
  const high = view.getUint32(4, true);
  return {
    record: (high & 0xffffff) * 2 ** 32 + view.getUint32(0, true),
    padding: high >= 2 ** 31 ? (high >>> 24) & 0x7 : 0,
  };
}

function cutOff(offset: number, isLast: boolean): SegmentEnd {
  return isLast
    ? { end: "torn", offset }
    : { end: "damaged", offset, why: "it is cut off, and files follow it" };
}

/** Disks write sectors whole: one that is still empty was never written, so the write was not complete. */
function hasEmptySector(frame: Uint8Array, fileOffset: number): boolean {
  for (let at = 0; at < frame.length;) {
    const length = Math.min(SECTOR - ((fileOffset + at) % SECTOR), frame.length - at);
    if (frame.subarray(at, at + length).every((byte) => byte === 0)) return true;
    at += length;
  }
  return false;
}
