/**
 * Waiting in tests: for a condition, with a deadline, and with the last reason in the error when it passes.
 */
import { setTimeout as sleep } from "node:timers/promises";

type Falsy = false | "" | 0 | null | undefined;

/** Polls until `look` returns something truthy; what it throws counts as "not yet". */
export async function eventually<T>(
  what: string,
  look: () => Promise<T> | T,
  options: { withinMs?: number; everyMs?: number } = {},
): Promise<Exclude<T, Falsy>> {
  const { withinMs = 120_000, everyMs = 50 } = options;
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
    await sleep(everyMs);
  }
}
