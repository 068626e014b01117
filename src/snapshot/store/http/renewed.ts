/** A credential that expires, fetched again in time and by one caller at a time. */
import type { Clock } from "../../../seams/clock.ts";

export interface Expires {
  /** Milliseconds since the epoch; without it, never. */
  readonly expiresAt?: number | undefined;
}

/** Fetched again when less than this is left: long enough for one part of an upload. */
const RENEW_MS = 300_000;

export class Renewed<T extends Expires> {
  readonly #clock: Clock;
  readonly #fetch: (signal: AbortSignal) => Promise<T>;
  #known: T | undefined;
  #pending: Promise<T> | undefined;

  constructor(clock: Clock, fetch: (signal: AbortSignal) => Promise<T>) {
    this.#clock = clock;
    this.#fetch = fetch;
  }

  async get(signal: AbortSignal): Promise<T> {
    const left = (this.#known?.expiresAt ?? Infinity) - this.#clock.now();
    if (this.#known !== undefined && left > RENEW_MS) return this.#known;
    this.#pending ??= this.#fetch(signal).finally(() => (this.#pending = undefined));
    try {
      return (this.#known = await this.#pending);
    } catch (error) {
      // The one at hand serves until it expires.
      if (this.#known !== undefined && left > 0) return this.#known;
      throw error;
    }
  }
}
