/** For tests: writes a write-ahead log as etcd does, frame by frame. */
import { BinaryWriter } from "@bufbuild/protobuf/wire";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { crc32c } from "../wal/crc32c.ts";
import { frameOf, hardStateBytes } from "../wal/frame.ts";
import { RecordType, type HardState, type LogPosition } from "../wal/messages.ts";

export class WalWriter {
  readonly #segments: Uint8Array[][] = [];
  readonly #identity: Uint8Array;
  #crc = 0;

  constructor(memberID = 0xa1n, clusterID = 0xc1n) {
    this.#identity = new BinaryWriter().uint32(8).uint64(memberID).uint32(16).uint64(clusterID).finish();
    this.cut();
    this.snapshot({ term: 0, index: 0 });
  }

  /** Begins the next file. */
  cut(): this {
    this.#segments.push([]);
    this.#write(RecordType.crc, undefined);
    this.#write(RecordType.metadata, this.#identity);
    return this;
  }

  entry({ term, index }: LogPosition, content = "value"): this {
    const data = Buffer.from(content);
    const writer = new BinaryWriter().uint32(8).uint32(0).uint32(16).uint64(term).uint32(24).uint64(index);
    return this.#write(RecordType.entry, writer.uint32(34).bytes(data).finish());
  }

  entries(term: number, from: number, to: number): this {
    for (let index = from; index <= to; index++) this.entry({ term, index });
    return this;
  }

  state(state: HardState): this {
    return this.#write(RecordType.state, hardStateBytes(state));
  }

  snapshot({ term, index }: LogPosition): this {
    const writer = new BinaryWriter().uint32(8).uint64(index).uint32(16).uint64(term);
    return this.#write(RecordType.snapshot, writer.finish());
  }

  /** The files, in order; the last one ends in zeros, as etcd allocates them. */
  files(): Buffer[] {
    return this.#segments.map((frames, index) =>
      Buffer.concat([...frames, ...(index === this.#segments.length - 1 ? [Buffer.alloc(4096)] : [])]),
    );
  }

  /** Bytes of the last file that are written. */
  get length(): number {
    return Buffer.concat(this.#segments.at(-1) ?? []).length;
  }

  save(directory: string, files = this.files()): void {
    mkdirSync(directory, { recursive: true });
    for (const [index, bytes] of files.entries())
      writeFileSync(path.join(directory, `${hex16(index)}-${hex16(index * 10)}.wal`), bytes);
  }

  #write(type: number, data: Uint8Array | undefined): this {
    if (data !== undefined) this.#crc = crc32c(data, this.#crc);
    const frame = frameOf({ type, crc: this.#crc, ...(data !== undefined && { data }) });
    this.#segments.at(-1)?.push(frame);
    return this;
  }
}

/** A file of a raft snapshot, as `member/snap/<term>-<index>.snap`. */
export function saveSnapshotFile(directory: string, { term, index }: LogPosition, damaged = false): void {
  const data = Buffer.from("what etcd keeps of the first version of its store");
  const crc = crc32c(data) ^ (damaged ? 1 : 0);
  const bytes = new BinaryWriter()
    .uint32(8)
    .uint32(crc >>> 0)
    .uint32(18)
    .bytes(data)
    .finish();
  mkdirSync(directory, { recursive: true });
  writeFileSync(path.join(directory, `${hex16(term)}-${hex16(index)}.snap`), bytes);
}

function hex16(value: number): string {
  return value.toString(16).padStart(16, "0");
}
