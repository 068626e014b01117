/** One JSON object per line, as watches send them, cut into chunks anywhere. */

/** No object is near this: the API server takes none over 3 MiB. */
const LONGEST_LINE = 64 * 1024 * 1024;

export class JsonLines {
  #parts: Uint8Array[] = [];
  #length = 0;

  /** The objects that this chunk completes. */
  *push(chunk: Uint8Array): Generator<unknown> {
    let from = 0;
    for (;;) {
      const end = chunk.indexOf(0x0a, from);
      if (end < 0) break;
      this.#keep(chunk.subarray(from, end));
      from = end + 1;
      const text = Buffer.concat(this.#parts, this.#length).toString("utf8");
      this.#parts = [];
      this.#length = 0;
      if (text.trim() !== "") yield JSON.parse(text);
    }
    this.#keep(chunk.subarray(from));
  }

  /** An object was begun and not finished. */
  get pending(): boolean {
    return this.#length > 0;
  }

  #keep(part: Uint8Array): void {
    if (part.length === 0) return;
    this.#parts.push(part);
    this.#length += part.length;
    if (this.#length > LONGEST_LINE) throw new Error(`a line of more than ${LONGEST_LINE} bytes`);
  }
}
