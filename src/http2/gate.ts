/**
 * A bound on what is under way at once, on how many may wait, and where wanted on how many begin in a second. First
 * come, first served.
 */
import { DeadlineExceeded, type Clock } from "../seams/clock.ts";
import { Http2Failure } from "./failure.ts";

interface GateLimits {
  /** Calls a second in the long run, and calls that may come at once after a quiet time; without it, no bound. */
  readonly perSecond?: number;
  readonly burst?: number;
  readonly concurrent: number;
  readonly waiting: number;
}

export class Gate {
  readonly #clock: Clock;
  readonly #limits: Required<GateLimits>;
  readonly #waiting = new Set<() => void>();
  #tokens: number;
  #filledAt: number;
  #busy = 0;
  #ticking = false;

  constructor(clock: Clock, limits: GateLimits) {
    this.#clock = clock;
    this.#limits = { perSecond: 0, burst: Infinity, ...limits };
    this.#tokens = this.#limits.burst;
    this.#filledAt = clock.monotonic();
  }

  get idle(): boolean {
    return this.#busy === 0;
  }

  /** A place; give it back by disposing. Rejects when the signal aborts first or the queue is full. */
  async enter(signal: AbortSignal): Promise<Disposable> {
    if (signal.aborted) throw new Http2Failure("not-sent", "cancelled", "ended before it began");
    if (this.#waiting.size >= this.#limits.waiting)
      throw new Http2Failure("not-sent", "overloaded", `${this.#queue()} (client-side limit)`);
    return await new Promise((resolve, reject) => {
      const admit = () => {
        signal.removeEventListener("abort", leave);
        resolve(this.#place());
      };
      const leave = () => {
        this.#waiting.delete(admit);
        const fault = signal.reason instanceof DeadlineExceeded ? "overloaded" : "cancelled";
        const message = `not sent in time: ${this.#queue()} (client-side limit)`;
        reject(new Http2Failure("not-sent", fault, message, { cause: signal.reason }));
      };
      signal.addEventListener("abort", leave, { once: true });
      this.#waiting.add(admit);
      this.#admit();
    });
  }

  #admit(): void {
    const { perSecond, burst, concurrent } = this.#limits;
    const now = this.#clock.monotonic();
    this.#tokens = Math.min(burst, this.#tokens + ((now - this.#filledAt) * perSecond) / 1_000);
    this.#filledAt = now;
    for (const admit of this.#waiting) {
      if (this.#busy >= concurrent) return;
      if (this.#tokens < 1) {
        const waitMs = Math.ceil(((1 - this.#tokens) * 1_000) / perSecond);
        if (!this.#ticking) this.#clock.timer(waitMs, () => this.#tick());
        this.#ticking = true;
        return;
      }
      this.#tokens -= 1;
      this.#busy += 1;
      this.#waiting.delete(admit);
      admit();
    }
  }

  #tick(): void {
    this.#ticking = false;
    this.#admit();
  }

  #queue(): string {
    return `${this.#busy} calls in flight, ${this.#waiting.size} waiting`;
  }

  #place(): Disposable {
    let held = true;
    return {
      [Symbol.dispose]: () => {
        if (!held) return;
        held = false;
        this.#busy -= 1;
        this.#admit();
      },
    };
  }
}
