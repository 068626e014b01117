/**
 * Bounds on what we ask of the API server: so many calls a second, so many under way, so many waiting. Protects
 * the server (and our own share of it) from a loop gone wild; what keeps a lease goes past all of it.
 */
import { DeadlineExceeded, type Clock } from "../seams/clock.ts";
import {
  KubeFailure,
  type KubeCallOptions,
  type KubeRequest,
  type KubeTransport,
} from "../seams/kube-transport.ts";

export interface Limits {
  /** Calls a second in the long run. */
  readonly perSecond: number;
  /** Calls that may come at once after a quiet time. */
  readonly burst: number;
  /** Calls under way; watches, which do not end, count until they are open. */
  readonly concurrent: number;
  /** Calls that may wait; more are refused. */
  readonly waiting: number;
}

export const DEFAULT_LIMITS: Limits = { perSecond: 50, burst: 200, concurrent: 32, waiting: 2_000 };

export function limited(
  transport: KubeTransport,
  clock: Clock,
  limits: Limits = DEFAULT_LIMITS,
): KubeTransport {
  const gate = new Gate(clock, limits);
  const passing = async <T>(options: KubeCallOptions, call: () => Promise<T>): Promise<T> => {
    if (options.urgent === true) return await call();
    const leave = await gate.enter(options.signal);
    try {
      return await call();
    } finally {
      leave();
    }
  };
  return {
    request: (request: KubeRequest, options) => passing(options, () => transport.request(request, options)),
    stream: (request: KubeRequest, options) => passing(options, () => transport.stream(request, options)),
    close: () => transport.close(),
  };
}

class Gate {
  readonly #clock: Clock;
  readonly #limits: Limits;
  readonly #waiting = new Set<() => void>();
  #tokens: number;
  #filledAt: number;
  #busy = 0;
  #ticking = false;

  constructor(clock: Clock, limits: Limits) {
    this.#clock = clock;
    this.#limits = limits;
    this.#tokens = limits.burst;
    this.#filledAt = clock.monotonic();
  }

  /** Resolves, first come first served, with what gives the place back. */
  async enter(signal: AbortSignal): Promise<() => void> {
    if (signal.aborted) throw new KubeFailure("not-sent", "cancelled", "ended before it began");
    if (this.#waiting.size >= this.#limits.waiting)
      throw new KubeFailure(
        "not-sent",
        "overloaded",
        `${this.#busy} calls in flight, ${this.#waiting.size} waiting (client-side limit: ${this.#limits.perSecond} per second)`,
      );
    return await new Promise((resolve, reject) => {
      const admit = () => {
        signal.removeEventListener("abort", leave);
        resolve(this.#place());
      };
      const leave = () => {
        this.#waiting.delete(admit);
        const why = signal.reason instanceof DeadlineExceeded ? "overloaded" : "cancelled";
        const message = `not sent in time: ${this.#busy} calls in flight, ${this.#waiting.size} waiting (client-side limit)`;
        reject(new KubeFailure("not-sent", why, message, { cause: signal.reason }));
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

  #place(): () => void {
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      this.#busy -= 1;
      this.#admit();
    };
  }
}
