/** Requests are repeated with growing waits while the store or the network fails for a moment. */
import { backoffMs } from "../../../seams/backoff.ts";
import { sleep, type Clock } from "../../../seams/clock.ts";
import type { Random } from "../../../seams/random.ts";
import { StoreError } from "../store.ts";
import { HttpFailure } from "./failure.ts";
import { NetworkError } from "./http.ts";

export const TRIES = 6;
const BACKOFF = { firstMs: 200, longestMs: 5_000 };

export interface Attempted {
  readonly signal: AbortSignal;
  /** In messages: `write s3://bucket/a.db`. */
  readonly doing: string;
  /** Called before each repetition. */
  readonly onRetry?: (() => void) | undefined;
}

export interface RetryOptions<F extends HttpFailure> {
  readonly clock: Clock;
  readonly random: Random;
  /** In words, for what was tried. */
  readonly explain: (doing: string, failure: F) => StoreError;
}

/** `F` is what the requests of one store fail with. */
export class Retries<F extends HttpFailure> {
  readonly #options: RetryOptions<F>;

  constructor(options: RetryOptions<F>) {
    this.#options = options;
  }

  async wait(failures: number, signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#options;
    await sleep(clock, backoffMs(failures, BACKOFF, random), signal);
  }

  /** A success, or a `StoreError` after the last try; failures that `accept` names are returned to the caller. */
  async run<T>(
    { signal, doing, onRetry }: Attempted,
    accept: (failure: F) => boolean,
    once: () => Promise<T>,
  ): Promise<T | F> {
    for (let failures = 1; ; failures++) {
      try {
        return await once();
      } catch (error) {
        signal.throwIfAborted();
        const failure = error instanceof HttpFailure ? (error as F) : undefined;
        if (failure !== undefined && accept(failure)) return failure;
        const isTransient = error instanceof NetworkError || failure?.isTransient === true;
        if (!isTransient || failures >= TRIES) {
          if (failure !== undefined) throw this.#options.explain(doing, failure);
          if (error instanceof NetworkError)
            throw new StoreError(
              "unreachable",
              `cannot ${doing}: ${error.message}; check the endpoint and the network (${failures} tries)`,
              { cause: error },
            );
          throw error;
        }
      }
      await this.wait(failures, signal);
      onRetry?.();
    }
  }
}
