/**
 * The authentication tokens of one client. One is shared by all calls, asked for once and dropped when etcd refuses it.
 * While members are restarted with another kind of token or another key (R53), a token of one is refused by others: a
 * member that refuses a new one is asked for its own. Logins have their own deadline, so that one caller's cancellation
 * does not fail the others.
 */
import { deadline, type Clock } from "../seams/clock.ts";
import type { Endpoint } from "../seams/etcd-transport.ts";

/** For a call to this endpoint: there, or at any that is known. */
type Login = (signal: AbortSignal, endpoint: Endpoint, where: "there" | "any") => Promise<string | undefined>;

export class Tokens {
  readonly #shared: TokenHolder;
  readonly #holder: (where: "there" | "any") => TokenHolder;
  /** By URL. */
  readonly #own = new Map<string, TokenHolder>();
  /** URLs that refused the shared token and have accepted none since. */
  readonly #suspects = new Set<string>();

  constructor(clock: Clock, timeoutMs: number, login: Login) {
    this.#holder = (where) =>
      new TokenHolder(clock, timeoutMs, (signal, endpoint) => login(signal, endpoint, where));
    this.#shared = this.#holder("any");
  }

  async get(endpoint: Endpoint, signal: AbortSignal): Promise<string | undefined> {
    const { url } = endpoint;
    const own = this.#own.get(url);
    if (!own) return await this.#shared.get(endpoint, signal);
    try {
      return await own.get(endpoint, signal);
    } catch (error) {
      // A member that gives no tokens, as a learner, may accept those of others.
      this.#own.delete(url);
      throw error;
    }
  }

  accepted({ url }: Endpoint): void {
    this.#suspects.delete(url);
  }

  refused({ url }: Endpoint): void {
    if (this.#own.delete(url)) return;
    if (this.#suspects.has(url)) {
      this.#own.set(url, this.#holder("there"));
      return;
    }
    this.#suspects.add(url);
    this.#shared.drop();
  }
}

class TokenHolder {
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #authenticate: (signal: AbortSignal, endpoint: Endpoint) => Promise<string | undefined>;
  #current: Promise<string | undefined> | undefined;

  /** `authenticate` gives a token, or nothing when the cluster has authentication disabled. */
  constructor(
    clock: Clock,
    timeoutMs: number,
    authenticate: (signal: AbortSignal, endpoint: Endpoint) => Promise<string | undefined>,
  ) {
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
    this.#authenticate = authenticate;
  }

  get(endpoint: Endpoint, signal: AbortSignal): Promise<string | undefined> {
    if (this.#current === undefined) {
      const asked = this.#ask(endpoint);
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

  async #ask(endpoint: Endpoint): Promise<string | undefined> {
    using limit = deadline(this.#clock, this.#timeoutMs);
    return await this.#authenticate(limit.signal, endpoint);
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
