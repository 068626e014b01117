/**
 * Reads the stream of SnapshotResponses from the network's own chunks: gRPC's framing and the few fields are parsed as
 * they come, and the bytes of the database are handed on where they lie. A general decoder would copy each twice.
 */
import { FramingError } from "./grpc/frame.ts";

const PREFIX = 5;
/** Field numbers of SnapshotResponse. */
const REMAINING_BYTES = 2;
const BLOB = 3;
const VERSION = 4;
const VARINT = 0;
const LENGTH_DELIMITED = 2;
const LONGEST_VERSION = 64;

type Expected = "tag" | "number" | "length";

export class SnapshotFrames {
  readonly #prefix = Buffer.alloc(PREFIX);
  #prefixFilled = 0;
  #messageLeft = 0;
  #bytesLeft = 0;
  #expected: Expected = "tag";
  #field = 0;
  #value = 0;
  #shift = 0;
  #remaining = 0;
  #firstBlob: number | undefined;
  #version = "";

  /** True while a message is incomplete. */
  get pending(): boolean {
    return this.#prefixFilled > 0 || this.#messageLeft > 0;
  }

  /** Since 3.6: the version to restore with. */
  get version(): string {
    return this.#version;
  }

  /** What the first message says: how many bytes it has and how many follow. */
  get announced(): number | undefined {
    return this.#firstBlob;
  }

  /** The parts of the database in this chunk. */
  *push(chunk: Uint8Array): Generator<Uint8Array> {
    for (let at = 0; at < chunk.length;) {
      if (this.#messageLeft === 0) {
        this.#prefix[this.#prefixFilled++] = chunk[at++] ?? 0;
        if (this.#prefixFilled === PREFIX) this.#begin();
      } else if (this.#bytesLeft > 0) {
        const part = chunk.subarray(at, at + this.#bytesLeft);
        at += part.length;
        this.#bytesLeft -= part.length;
        this.#messageLeft -= part.length;
        if (this.#field === BLOB) yield part;
        else if (this.#field === VERSION && this.#version.length < LONGEST_VERSION)
          this.#version += Buffer.from(part).toString("latin1");
      } else {
        this.#messageLeft--;
        this.#take(chunk[at++] ?? 0);
      }
      if (this.#messageLeft === 0 && (this.#bytesLeft > 0 || this.#expected !== "tag" || this.#shift > 0))
        throw new FramingError("a message of the snapshot ends within a field");
    }
  }

  #begin(): void {
    this.#prefixFilled = 0;
    if (this.#prefix[0] !== 0)
      throw new FramingError("the server sent a compressed message that was not asked for");
    this.#messageLeft = this.#prefix.readUInt32BE(1);
  }

  /** One byte of a number. */
  #take(byte: number): void {
    this.#value += (byte & 0x7f) * 2 ** this.#shift;
    this.#shift += 7;
    if (this.#shift > 70) throw new FramingError("a number in the snapshot's stream does not end");
    if (byte >= 0x80) return;
    const value = this.#value;
    this.#value = 0;
    this.#shift = 0;
    if (this.#expected === "tag") this.#tag(value);
    else if (this.#expected === "number") {
      if (this.#field === REMAINING_BYTES) this.#remaining = value;
      this.#expected = "tag";
    } else {
      if (value > this.#messageLeft)
        throw new FramingError("a field of the snapshot is longer than its message");
      if (this.#field === BLOB) this.#firstBlob ??= value + this.#remaining;
      if (this.#field === VERSION) this.#version = "";
      this.#bytesLeft = value;
      this.#expected = "tag";
    }
  }

  #tag(tag: number): void {
    this.#field = Math.floor(tag / 8);
    const kind = tag % 8;
    if (kind !== VARINT && kind !== LENGTH_DELIMITED)
      throw new FramingError(
        `the snapshot's stream has a field of kind ${kind}, which this client does not know`,
      );
    this.#expected = kind === VARINT ? "number" : "length";
  }
}
