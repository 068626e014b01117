/**
 * When a failed step may be tried again. One entry per kind of step and member, doubling up to a limit;
 * forgotten when the step succeeds or is not wanted any more.
 */
import type { Action } from "../core/action.ts";
import { stepName } from "./transcript.ts";

export interface Failure {
  readonly step: string;
  readonly member?: string;
  readonly message: string;
  readonly attempts: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly retryAt: number;
}

const FIRST_RETRY_MS = 200;
const LONGEST_RETRY_MS = 10_000;

export class Retries {
  readonly #failures = new Map<string, Failure>();

  /** The failure because of which this step has to wait at `now`. */
  waiting(action: Action, now: number): Failure | undefined {
    const failure = this.#failures.get(keyOf(action));
    return failure !== undefined && now < failure.retryAt ? failure : undefined;
  }

  failed(action: Action, message: string, now: number): Failure {
    const attempts = (this.#failures.get(keyOf(action))?.attempts ?? 0) + 1;
    const delay = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** (attempts - 1));
    const failure: Failure = {
      step: stepName(action),
      ...("member" in action && { member: action.member }),
      message,
      attempts,
      at: now,
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

function keyOf(action: Action): string {
  return `${stepName(action)} ${"member" in action ? action.member : ""}`;
}
