/**
 * One time of leading: how much of it is left, and the check to make before each effect. Protects from a pause
 * (a frozen process, a suspended machine) after which a leader goes on as if nothing had been.
 */
import type { Clock, Timer } from "../seams/clock.ts";

/** We stop at this part of the lease's duration: clocks do not all run at the same speed. */
export const LEADS_FOR = 0.8;

export interface Moment {
  readonly monotonic: number;
  readonly wall: number;
}

export class LeaseLost extends Error {
  override name = "LeaseLost";
}

export class Term {
  readonly #clock: Clock;
  readonly #lengthMs: number;
  readonly #onEnd: (why: string) => void;
  readonly #ending = new AbortController();
  #from: Moment;
  #timer: Timer | undefined;
  #over: string | undefined;

  constructor(clock: Clock, lengthMs: number, from: Moment, onEnd: (why: string) => void) {
    this.#clock = clock;
    this.#lengthMs = lengthMs;
    this.#from = from;
    this.#onEnd = onEnd;
    this.#arm();
  }

  /** Aborts when the term ends. */
  get signal(): AbortSignal {
    return this.#ending.signal;
  }

  /** Milliseconds in which nobody else leads; 0 when there are none. A call must end within them. */
  remainingMs(): number {
    return this.#over === undefined ? Math.max(0, this.leftMs()) : 0;
  }

  /** Call this before each effect, with the time that the effect may take. */
  check(needMs = 0): void {
    if (this.#over !== undefined) throw new LeaseLost(`not done: ${this.#over}`);
    const left = this.remainingMs();
    if (left <= needMs)
      throw new LeaseLost(
        `not done: the lease is valid for another ${Math.floor(left)} ms, and ${needMs} ms are needed`,
      );
  }

  /** Of the lease itself, also after we have stopped to use it. */
  leftMs(): number {
    // Both clocks: the monotonic one may stand still while a machine sleeps, the other one may be set back.
    const monotonic = this.#clock.monotonic() - this.#from.monotonic;
    const wall = this.#clock.now() - this.#from.wall;
    return this.#lengthMs - Math.max(monotonic, wall);
  }

  /** The lease was renewed by a request made at `from`. */
  extend(from: Moment): void {
    if (from.monotonic < this.#from.monotonic) return;
    this.#from = from;
    if (this.#over === undefined) this.#arm();
  }

  end(why: string): void {
    if (this.#over !== undefined) return;
    this.#over = why;
    this.#timer?.cancel();
    this.#ending.abort(new LeaseLost(why));
  }

  #arm(): void {
    this.#timer?.cancel();
    const left = this.#from.monotonic + this.#lengthMs - this.#clock.monotonic();
    this.#timer = this.#clock.timer(left, () => this.#onEnd("the lease could not be renewed in time"), {
      background: true,
    });
  }
}
