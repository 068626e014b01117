/** Bytes as lines of text, however they were cut on their way. */

/** A longer line is given in parts: memory has an end. */
const LONGEST_LINE = 1024 * 1024;

export class TextLines {
  readonly #decoder = new TextDecoder();
  #torn = "";

  push(chunk: Uint8Array): string[] {
    const lines = (this.#torn + this.#decoder.decode(chunk, { stream: true })).split("\n");
    this.#torn = lines.pop() ?? "";
    if (this.#torn.length > LONGEST_LINE) lines.push(...this.end());
    return lines;
  }

  /** What came after the last newline, if anything. */
  end(): string[] {
    const rest = this.#torn;
    this.#torn = "";
    return rest === "" ? [] : [rest];
  }
}
