/** A list of 32-bit numbers that grows in steps, so that millions of them cost four bytes each and no copy. */

const STEP_BITS = 16;
const STEP = 1 << STEP_BITS;

export class Numbers {
  readonly #parts: Uint32Array[] = [];
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(value: number): void {
    const index = this.#length & (STEP - 1);
    if (index === 0 && this.#length >>> STEP_BITS === this.#parts.length)
      this.#parts.push(new Uint32Array(STEP));
    (this.#parts[this.#length >>> STEP_BITS] as Uint32Array)[index] = value;
    this.#length++;
  }

  get(index: number): number {
    return this.#parts[index >>> STEP_BITS]?.[index & (STEP - 1)] ?? 0;
  }

  /** Forgets what was added after `length`. */
  truncate(length: number): void {
    this.#length = length;
  }
}
