/**
 * Waiting in tests: for a condition, with a deadline, and with the last reason in the error when it passes. What takes
 * longer is looked at less often, since every look costs the servers time that others wait for.
 */
import { setTimeout as sleep } from "node:timers/promises";

type Falsy = false | "" | 0 | null | undefined;

const FIRST_MS = 50;
const MOST_MS = 250;
const GROWTH = 1.2;

/**
 * Polls until `look` returns something truthy; what it throws counts as "not yet". `everyMs` is for what lasts only a
 * moment and must not be missed.
 */
export async function eventually<T>(
  what: string,
  look: () => Promise<T> | T,
  options: { withinMs?: number; everyMs?: number } = {},
): Promise<Exclude<T, Falsy>> {
  const { withinMs = 120_000, everyMs } = options;
  let pauseMs = everyMs ?? FIRST_MS;
  const end = Date.now() + withinMs;
  for (;;) {
    let last: unknown;
    try {
      const found = await look();
      if (found) return found as Exclude<T, Falsy>;
      last = found;
    } catch (error) {
      last = (error as Error).message;
    }
    if (Date.now() > end)
      throw new Error(`${what}: not within ${withinMs} ms (last: ${JSON.stringify(last)})`);
    await sleep(pauseMs);
    if (everyMs === undefined) pauseMs = Math.min(MOST_MS, pauseMs * GROWTH);
  }
}
