/**
 * When a part of the objects that could not be made may be tried again: each for itself, so that a refused budget
 * does not keep a Pod from being made, and a server that refuses is not asked on every pass.
 */
import type { Problem } from "../../control/problem.ts";
import { doubledMs, type Backoff } from "../../seams/backoff.ts";
import type { Clock } from "../../seams/clock.ts";

interface Wait {
  readonly failures: number;
  /** None where there is nothing to tell: the object is gone, and the caches are about to say so. */
  readonly problem: Problem | undefined;
  /** By the monotonic clock. */
  readonly until: number;
}

const BACKOFF: Backoff = { firstMs: 200, longestMs: 10_000 };

export class PartWaits {
  readonly #clock: Pick<Clock, "monotonic" | "now">;
  readonly #waits = new Map<string, Wait>();
  #generation = 0;

  constructor(clock: Pick<Clock, "monotonic" | "now">) {
    this.#clock = clock;
  }

  /** Another spec, another chance. */
  follow(generation: number): void {
    if (generation !== this.#generation) this.#waits.clear();
    this.#generation = generation;
  }

  /** Whether this part has to wait now, and why. */
  waiting(part: string): Pick<Wait, "problem"> | undefined {
    const wait = this.#waits.get(part);
    return wait && this.#clock.monotonic() < wait.until ? wait : undefined;
  }

  /** What this part failed with the last time it was tried, waiting or not. */
  failureOf(part: string): string | undefined {
    return this.#waits.get(part)?.problem?.message;
  }

  failed(part: string, problem: Problem | undefined): void {
    const failures = (this.#waits.get(part)?.failures ?? 0) + 1;
    const until = this.#clock.monotonic() + doubledMs(failures, BACKOFF);
    this.#waits.set(part, { failures, problem, until });
  }

  /** Something changed that any of them may have waited for. */
  clear(): void {
    this.#waits.clear();
  }

  succeeded(part: string): void {
    this.#waits.delete(part);
  }

  /** Forgets the parts that nobody asks for any more: nothing would ever come of waiting for them. */
  keepOnly(parts: ReadonlySet<string>): void {
    for (const part of this.#waits.keys()) if (!parts.has(part)) this.#waits.delete(part);
  }

  /** When the next of them may be tried, as time of day. */
  get lookAgainAt(): number | undefined {
    const untils = [...this.#waits.values()].map(({ until }) => until);
    if (untils.length === 0) return undefined;
    return this.#clock.now() + Math.max(0, Math.min(...untils) - this.#clock.monotonic());
  }
}
