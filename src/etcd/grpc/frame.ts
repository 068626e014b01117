/**
 * gRPC's message framing: one flag byte, four length bytes, the message. The decoder takes chunks as
 * the network cuts them and copies a message only when it spans chunks.
 */

const PREFIX = 5;
/** Larger than any answer of etcd within its own limits; a longer length means we lost the framing. */
export const LONGEST_MESSAGE = 512 * 1024 * 1024;

export function encodeFrame(message: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(PREFIX + message.length);
  frame[0] = 0;
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, PREFIX);
  return frame;
}

export class FramingError extends Error {
  override name = "FramingError";
}

export class FrameDecoder {
  readonly #longest: number;
  #chunks: Uint8Array[] = [];
  #buffered = 0;

  /** `longest`: of one message, in bytes; what says that it is longer is an error before it is kept. */
  constructor(longest = LONGEST_MESSAGE) {
    this.#longest = longest;
  }

  /** True while a message is incomplete. */
  get pending(): boolean {
    return this.#buffered > 0;
  }

  /** The messages that this chunk completes. */
  *push(chunk: Uint8Array): Generator<Uint8Array> {
    this.#chunks.push(chunk);
    this.#buffered += chunk.length;
    for (;;) {
      if (this.#buffered < PREFIX) return;
      const prefix = this.#peek(PREFIX);
      if (prefix[0] !== 0)
        throw new FramingError("the server sent a compressed message that was not asked for");
      const length = Buffer.from(prefix.buffer, prefix.byteOffset, PREFIX).readUInt32BE(1);
      if (length > this.#longest)
        throw new FramingError(
          `the server sent a message of ${length} bytes; at most ${this.#longest} are accepted`,
        );
      if (this.#buffered < PREFIX + length) return;
      this.#take(PREFIX);
      yield this.#take(length);
    }
  }

  #peek(length: number): Uint8Array {
    const first = this.#chunks[0];
    if (first !== undefined && first.length >= length) return first.subarray(0, length);
    this.#chunks = [Buffer.concat(this.#chunks)];
    return (this.#chunks[0] ?? new Uint8Array(0)).subarray(0, length);
  }

  #take(length: number): Uint8Array {
    this.#buffered -= length;
    const first = this.#chunks[0];
    if (first !== undefined && first.length >= length) {
      if (first.length === length) this.#chunks.shift();
      else this.#chunks[0] = first.subarray(length);
      return first.subarray(0, length);
    }
    const whole = Buffer.allocUnsafe(length);
    let filled = 0;
    while (filled < length) {
      const chunk = this.#chunks[0];
      if (chunk === undefined) break;
      const part = chunk.subarray(0, length - filled);
      whole.set(part, filled);
      filled += part.length;
      if (part.length === chunk.length) this.#chunks.shift();
      else this.#chunks[0] = chunk.subarray(part.length);
    }
    return whole;
  }
}
