/**
 * I7 while something is wrong: the same write is not made again and again at full speed. Whoever undoes it, or refuses
 * it, is there to stay, and the API server serves others too.
 */
import { Violation } from "../oracles/oracle.ts";

const WINDOW_MS = 60_000;
const MOST_IN_WINDOW = 60;

export class Busy {
  readonly #times = new Map<string, number[]>();
  /** The most of one kind seen in any window. */
  most = 0;

  note(effect: string, now: number): void {
    const before = this.#times.get(effect) ?? [];
    const times = [...before.filter((at) => at > now - WINDOW_MS), now];
    this.#times.set(effect, times);
    this.most = Math.max(this.most, times.length);
    if (times.length > MOST_IN_WINDOW)
      throw new Violation("I7", `${effect}, ${times.length} times within ${WINDOW_MS / 1000} s`);
  }
}
