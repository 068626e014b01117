/**
 * When a failed step may be tried again. One entry per kind of step and member, doubling up to a limit;
 * forgotten when the step succeeds or is not wanted any more. All times are monotonic: a wall clock that is set
 * back must not make a step wait until that time comes again.
 */
import type { Action } from "../core/action.ts";
import { doubledMs, type Backoff } from "../seams/backoff.ts";
import { isEtcdError } from "../etcd/errors.ts";
import { stepName } from "./transcript.ts";

export interface Failure {
  readonly step: string;
  readonly member?: string;
  readonly message: string;
  readonly attempts: number;
  /** By the monotonic clock. */
  readonly retryAt: number;
}

/** etcd itself says "not yet": it will take the step in a moment, and nothing is gained by waiting longer. */
const NOT_YET_MS = 500;
const BACKOFF: Backoff = { firstMs: 200, longestMs: 10_000 };

export class Retries {
  readonly #failures = new Map<string, Failure>();

  /** The failure because of which this step has to wait at `now`, by the monotonic clock. */
  waiting(action: Action, now: number): Failure | undefined {
    const failure = this.#failures.get(keyOf(action));
    return failure !== undefined && now < failure.retryAt ? failure : undefined;
  }

  failed(action: Action, error: unknown, now: number): Failure {
    const attempts = (this.#failures.get(keyOf(action))?.attempts ?? 0) + 1;
    const doubled = doubledMs(attempts, BACKOFF);
    const delay = isNotYet(error) ? Math.min(NOT_YET_MS, doubled) : doubled;
    const message = error instanceof Error ? error.message : String(error);
    const failure: Failure = {
      step: stepName(action),
      ...("member" in action && { member: action.member }),
      message,
      attempts,
      retryAt: now + delay,
    };
    this.#failures.set(keyOf(action), failure);
    return failure;
  }

  /** Keeps only what is known of the step that is wanted now; the others start afresh. */
  keepOnly(action: Action | undefined): void {
    const wanted = action === undefined ? undefined : keyOf(action);
    for (const key of this.#failures.keys()) if (key !== wanted) this.#failures.delete(key);
  }

  succeeded(action: Action): void {
    this.#failures.delete(keyOf(action));
  }
}

/** R18, R19: five seconds of connections, members that start, a learner that catches up. */
function isNotYet(error: unknown): boolean {
  return isEtcdError(error, "unhealthy-cluster", "not-enough-started", "learner-not-ready");
}

function keyOf(action: Action): string {
  return `${stepName(action)} ${"member" in action ? action.member : ""}`;
}
