/** Waits that grow, with a part left to chance: clients that failed together must not come back together. */
import type { Random } from "../seams/random.ts";

export interface Backoff {
  readonly firstMs: number;
  readonly longestMs: number;
}

/** At least 0, less than 1. */
export function fraction(random: Random): number {
  const [a = 0, b = 0, c = 0] = random.bytes(3);
  return (a * 65_536 + b * 256 + c) / 16_777_216;
}

/** The wait after the n-th failure in a row (from 1): doubling, between half of it and all of it. */
export function backoffMs(failures: number, { firstMs, longestMs }: Backoff, random: Random): number {
  const full = Math.min(longestMs, firstMs * 2 ** Math.min(30, Math.max(0, failures - 1)));
  return Math.ceil(full * (0.5 + fraction(random) / 2));
}
