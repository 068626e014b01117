/**
 * The clock of a simulated run. Wall time may be made to jump; monotonic time and timers never do.
 */
import type { Clock, Timer } from "../../src/seams/clock.ts";
import type { Scheduler } from "./scheduler.ts";

/** Where virtual time begins: a Monday noon, so that windows by day and hour mean something. */
export const EPOCH = Date.UTC(2030, 0, 7, 12);

export class VirtualClock implements Clock {
  readonly #scheduler: Scheduler;
  #jump = 0;

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler;
  }

  now(): number {
    return EPOCH + this.#scheduler.now + this.#jump;
  }

  monotonic(): number {
    return this.#scheduler.now;
  }

  timer(ms: number, fire: () => void): Timer {
    return this.#scheduler.after(ms, fire);
  }

  /** Sets the wall clock forward, or back when negative. */
  jump(ms: number): void {
    this.#jump += ms;
  }
}
