/**
 * When a failed step may be tried again. One entry per kind of step and member, doubling up to a limit; forgotten when
 * the step succeeds, or was not wanted for as long as it would have waited. All times are monotonic: a wall clock that is set
 * back must not make a step wait until that time comes again.
 */
import type { Action } from "../core/action.ts";
import { doubledMs, type Backoff } from "../seams/backoff.ts";
import { isEtcdError } from "../etcd/errors.ts";
import { errorCode } from "./error-code.ts";
import { stepName } from "./transcript.ts";

export interface Failure {
  readonly kind: Action["kind"];
  /** For people, as in the transcript. */
  readonly step: string;
  readonly member?: string;
  readonly message: string;
  readonly attempts: number;
  /** The try before failed by the same. */
  readonly repeated: boolean;
  /** By the monotonic clock. */
  readonly retryAt: number;
}

interface Remembered {
  readonly failure: Failure;
  readonly code: string;
  /** A step that is wanted again before, after others that it led to itself, fails for the same reason. */
  readonly forgetAt: number;
}

/** etcd itself says "not yet": it will take the step in a moment, and nothing is gained by waiting longer. */
const NOT_YET_MS = 500;
const BACKOFF: Backoff = { firstMs: 200, longestMs: 10_000 };

export class Retries {
  readonly #failures = new Map<string, Remembered>();

  /** The failure because of which this step has to wait at `now`, by the monotonic clock. */
  waiting(action: Action, now: number): Failure | undefined {
    const failure = this.#failures.get(keyOf(action))?.failure;
    return failure !== undefined && now < failure.retryAt ? failure : undefined;
  }

  failed(action: Action, error: unknown, now: number): Failure {
    const before = this.#failures.get(keyOf(action));
    const attempts = (before?.failure.attempts ?? 0) + 1;
    const code = errorCode(error);
    const doubled = doubledMs(attempts, BACKOFF);
    const delay = isNotYet(error) ? Math.min(NOT_YET_MS, doubled) : doubled;
    const message = error instanceof Error ? error.message : String(error);
    const failure: Failure = {
      kind: action.kind,
      step: stepName(action),
      ...("member" in action && { member: action.member }),
      message,
      attempts,
      repeated: before?.code === code,
      retryAt: now + delay,
    };
    this.#failures.set(keyOf(action), { failure, code, forgetAt: failure.retryAt + delay });
    return failure;
  }

  /** Keeps what is known of the step that is wanted now, and of those that failed just before; the others start afresh. */
  keepOnly(action: Action | undefined, now: number): void {
    const wanted = action === undefined ? undefined : keyOf(action);
    for (const [key, { forgetAt }] of this.#failures)
      if (key !== wanted && now >= forgetAt) this.#failures.delete(key);
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
