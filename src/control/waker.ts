/** A wait that ends early when somebody wakes it. A wake during work is kept for the next wait. */
import type { Clock } from "../seams/clock.ts";

export class Waker {
  readonly #clock: Clock;
  #wanted = false;
  #end: (() => void) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  wake(): void {
    this.#wanted = true;
    this.#end?.();
  }

  /** Resolves after `ms`, on a wake, or when the signal aborts. */
  async wait(ms: number, signal: AbortSignal): Promise<void> {
    if (!this.#wanted && !signal.aborted) {
      await new Promise<void>((resolve) => {
        const end = () => {
          timer.cancel();
          signal.removeEventListener("abort", end);
          this.#end = undefined;
          resolve();
        };
        const timer = this.#clock.timer(ms, end);
        signal.addEventListener("abort", end, { once: true });
        this.#end = end;
      });
    }
    this.#wanted = false;
  }
}
