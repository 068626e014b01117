/**
 * A body in parts of one size, as stores take it. A part that was sent is given back and filled again: left to the
 * collector, parts of 8 MB would pile up long before it came by.
 */
export const PART_BYTES = 8 * 1024 * 1024;

/** One part is looked ahead, since the last may be short. */
export class Parts {
  readonly #iterator: AsyncIterator<Uint8Array>;
  readonly #free: Buffer[] = [];
  #rest: Uint8Array = new Uint8Array(0);
  #done = false;

  constructor(body: AsyncIterable<Uint8Array>) {
    this.#iterator = body[Symbol.asyncIterator]();
  }

  async next(): Promise<{ bytes: Buffer; last: boolean }> {
    const bytes = this.#free.pop() ?? Buffer.allocUnsafeSlow(PART_BYTES);
    let filled = 0;
    while (filled < PART_BYTES) {
      if (this.#rest.length === 0) {
        if (this.#done) break;
        const next = await this.#iterator.next();
        if (next.done === true) this.#done = true;
        else this.#rest = next.value;
        continue;
      }
      const part = this.#rest.subarray(0, PART_BYTES - filled);
      bytes.set(part, filled);
      filled += part.length;
      this.#rest = this.#rest.subarray(part.length);
    }
    return { bytes: bytes.subarray(0, filled), last: this.#done && this.#rest.length === 0 };
  }

  /** The store has this part, and nothing reads it any more. */
  reuse(part: Buffer): void {
    this.#free.push(Buffer.from(part.buffer, 0, PART_BYTES));
  }

  async close(): Promise<void> {
    if (!this.#done) await this.#iterator.return?.();
  }
}
