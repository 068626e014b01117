/** Members that join while logs are followed: each is told once, when its record is there. */
import { sleep, type Clock } from "../../seams/clock.ts";

/** A new member takes longer than this to start. */
const LOOK_MS = 2_000;

export interface Looking {
  readonly known: readonly string[];
  /** The members now. A look that fails is made again: what keeps it from an answer, the logs that are followed tell. */
  readonly membersNow: () => Promise<readonly string[]>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

export async function* newcomers({ known, membersNow, clock, signal }: Looking): AsyncGenerator<string> {
  const seen = new Set(known);
  while (!signal.aborted) {
    const found = await membersNow().catch(() => []);
    for (const member of found) {
      if (seen.has(member)) continue;
      seen.add(member);
      yield member;
    }
    await sleep(clock, LOOK_MS, signal).catch(() => undefined);
  }
}
