/**
 * Equal texts are kept once. Objects of one cluster repeat each other: the certificate of an authority is in seven of
 * its Secrets, its UID in the owner of all that it has, and what it was made from in each member. Each comes out of JSON
 * as a text of its own: of a cluster of three, 28 of 70 kB in the caches are copies.
 */

/** Below this, the entry here is larger than the copy. */
const SHORTEST = 16;
/** Of the last clusters that were read: what repeats comes soon after. */
const MOST = 2_000;

export class SharedTexts {
  #recent = new Map<string, string>();
  #older = new Map<string, string>();

  /** The same text; the very one that was seen before, where it was seen lately. */
  of(text: string): string {
    if (text.length < SHORTEST) return text;
    const recent = this.#recent.get(text);
    if (recent !== undefined) return recent;
    const known = this.#older.get(text) ?? text;
    if (this.#recent.size >= MOST) {
      this.#older = this.#recent;
      this.#recent = new Map();
    }
    this.#recent.set(known, known);
    return known;
  }

  /** How many are remembered. */
  get size(): number {
    return this.#recent.size + this.#older.size;
  }
}
