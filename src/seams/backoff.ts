/** Waits that grow with each failure, for everything that tries again. */
import type { Random } from "./random.ts";

export interface Backoff {
  readonly firstMs: number;
  readonly longestMs: number;
}

/** The wait after the n-th failure in a row (from 1): doubling, up to the longest. */
export function doubledMs(failures: number, { firstMs, longestMs }: Backoff): number {
  return Math.min(longestMs, firstMs * 2 ** Math.min(30, Math.max(0, failures - 1)));
}

/** The same with a part left to chance, between half and all of it: clients that failed together must not come back together. */
export function backoffMs(failures: number, backoff: Backoff, random: Random): number {
  return Math.ceil(doubledMs(failures, backoff) * (0.5 + fraction(random) / 2));
}

/** At least 0, less than 1. */
export function fraction(random: Random): number {
  const [a = 0, b = 0, c = 0] = random.bytes(3);
  return (a * 65_536 + b * 256 + c) / 16_777_216;
}
