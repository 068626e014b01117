/**
 * Moments that this process remembers, kept by the monotonic clock and told in wall time. When the wall clock is set,
 * they move along with it: how long ago something was stays true, and that is all that anybody compares them for.
 */
import type { Clock } from "../seams/clock.ts";

/** A difference below this is the slow correction of a clock, or rounding: the times told would only flicker. */
const JUMP_MS = 1_000;

export class OwnTime {
  readonly #clock: Pick<Clock, "now" | "monotonic">;
  /** Wall time at the monotonic clock's zero. */
  #origin: number;

  constructor(clock: Pick<Clock, "now" | "monotonic">) {
    this.#clock = clock;
    this.#origin = clock.now() - clock.monotonic();
  }

  /** Now, to be kept. */
  mark(): number {
    return this.#clock.monotonic();
  }

  /** When a mark was made, by the wall clock as it is set now. */
  wall(mark: number): number {
    const origin = this.#clock.now() - this.#clock.monotonic();
    if (Math.abs(origin - this.#origin) >= JUMP_MS) this.#origin = origin;
    return Math.round(this.#origin + mark);
  }
}
