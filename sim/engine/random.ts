/**
 * Randomness of a simulated run: everything that is drawn comes from one seed, so that a run is a function
 * of it. The generator is xoshiro128**, seeded through splitmix32; good enough to choose, not to keep secrets.
 */
import type { Random } from "../../src/seams/random.ts";

export class SeededRandom implements Random {
  #a: number;
  #b: number;
  #c: number;
  #d: number;

  constructor(seed: number) {
    let state = seed >>> 0;
    const next = () => {
      state = (state + 0x9e3779b9) >>> 0;
      let z = state;
      z = Math.imul(z ^ (z >>> 16), 0x21f0aaad);
      z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
      return (z ^ (z >>> 15)) >>> 0;
    };
    this.#a = next();
    this.#b = next();
    this.#c = next();
    this.#d = next();
  }

  /** 32 random bits. */
  next(): number {
    const scrambled = Math.imul(this.#b, 5);
    const result = Math.imul((scrambled << 7) | (scrambled >>> 25), 9) >>> 0;
    const shifted = this.#b << 9;
    this.#c ^= this.#a;
    this.#d ^= this.#b;
    this.#b ^= this.#c;
    this.#a ^= this.#d;
    this.#c ^= shifted;
    this.#d = (this.#d << 11) | (this.#d >>> 21);
    return result;
  }

  bytes(length: number): Uint8Array {
    const out = new Uint8Array(length);
    for (let i = 0; i < length; i++) out[i] = this.next() >>> 24;
    return out;
  }

  /** A float in [0, 1). */
  fraction(): number {
    return this.next() / 2 ** 32;
  }

  /** A whole number from `low` to `high`, both included. */
  between(low: number, high: number): number {
    return low + Math.floor(this.fraction() * (high - low + 1));
  }

  chance(probability: number): boolean {
    return this.fraction() < probability;
  }

  pick<T>(items: readonly T[]): T {
    const item = items[this.between(0, items.length - 1)];
    if (item === undefined) throw new RangeError("nothing to pick from");
    return item;
  }

  /** Another generator, so that drawing more in one place does not change what another place draws. */
  fork(): SeededRandom {
    return new SeededRandom(this.next());
  }
}

/** Draws the same everywhere: the middle, the first. For transcripts, where chance would only make noise. */
export class SteadyRandom extends SeededRandom {
  constructor() {
    super(0);
  }
  override next(): number {
    return 2 ** 31;
  }
  override fork(): SteadyRandom {
    return new SteadyRandom();
  }
  override pick<T>(items: readonly T[]): T {
    const [first] = items;
    if (first === undefined) throw new RangeError("nothing to pick from");
    return first;
  }
}
