/** A set of 64-bit hashes as pairs of numbers, in two flat arrays: eight bytes a slot, and nothing for the collector. */

export class HashSet {
  readonly #low: Uint32Array;
  readonly #high: Uint32Array;
  readonly #mask: number;

  /** For at most `most` members. */
  constructor(most: number) {
    const slots = 2 ** Math.max(4, Math.ceil(Math.log2(most * 1.5 + 1)));
    this.#low = new Uint32Array(slots);
    this.#high = new Uint32Array(slots);
    this.#mask = slots - 1;
  }

  /** False when it was there already. An empty slot is a pair of zeros, so that hash counts as another. */
  add(low: number, high: number): boolean {
    const marked = low === 0 && high === 0 ? 1 : high;
    for (let slot = low & this.#mask; ; slot = (slot + 1) & this.#mask) {
      const [a, b] = [this.#low[slot], this.#high[slot]];
      if (a === low && b === marked) return false;
      if (a === 0 && b === 0) {
        this.#low[slot] = low;
        this.#high[slot] = marked;
        return true;
      }
    }
  }
}
