/**
 * Equal texts are kept once. Objects of one cluster repeat each other: the certificate of an authority is in seven of
 * its Secrets, its UID in the owner of all that it has, and what it was made from in each member. Each comes out of JSON
 * as a text of its own: of a cluster of three, 28 of 70 kB in the caches are copies.
 */

/** Below this, the entry here is larger than the copy. */
const SHORTEST = 16;
/** Above this, it is nothing that objects of one cluster repeat: a chain of certificates has a few thousand. */
const LONGEST = 32_768;
/** Of the last clusters that were read: what repeats comes soon after. */
const MOST = 2_000;
/** Anybody who may edit an object could fill the memory with texts that were replaced long ago. */
const MOST_CHARACTERS = 1_000_000;

export class SharedTexts {
  #recent = new Map<string, string>();
  #older = new Map<string, string>();
  /** Of the recent ones. */
  #characters = 0;

  /** The same text; the very one that was seen before, where it was seen lately. */
  of(text: string): string {
    if (text.length < SHORTEST || text.length > LONGEST) return text;
    const recent = this.#recent.get(text);
    if (recent !== undefined) return recent;
    const known = this.#older.get(text) ?? text;
    if (this.#recent.size >= MOST || this.#characters >= MOST_CHARACTERS) {
      this.#older = this.#recent;
      this.#recent = new Map();
      this.#characters = 0;
    }
    this.#recent.set(known, known);
    this.#characters += known.length;
    return known;
  }

  /** How many are remembered. */
  get size(): number {
    return this.#recent.size + this.#older.size;
  }
}
