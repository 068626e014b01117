/**
 * The authentication token of one client: asked for once, shared by all calls, dropped when etcd
 * refuses it. It has its own deadline, so that one caller's cancellation does not fail the others.
 */
import { deadline, type Clock } from "../seams/clock.ts";

export class TokenHolder {
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #authenticate: (signal: AbortSignal) => Promise<string | undefined>;
  #current: Promise<string | undefined> | undefined;

  /** `authenticate` gives a token, or nothing when the cluster has authentication disabled. */
  constructor(
    clock: Clock,
    timeoutMs: number,
    authenticate: (signal: AbortSignal) => Promise<string | undefined>,
  ) {
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
    this.#authenticate = authenticate;
  }

  get(signal: AbortSignal): Promise<string | undefined> {
    if (this.#current === undefined) {
      const asked = this.#ask();
      this.#current = asked;
      asked.catch(() => {
        if (this.#current === asked) this.#current = undefined;
      });
    }
    return raceAbort(this.#current, signal);
  }

  drop(): void {
    this.#current = undefined;
  }

  async #ask(): Promise<string | undefined> {
    using limit = deadline(this.#clock, this.#timeoutMs);
    return await this.#authenticate(limit.signal);
  }
}

/** The promise's outcome, or the signal's reason when that comes first. */
function raceAbort<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason instanceof Error ? signal.reason : new Error("aborted"));
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}
