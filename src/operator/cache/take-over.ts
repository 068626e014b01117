/**
 * What a new leader does before it acts: it waits until its caches, filled while it stood by, hold all that the leader
 * before it wrote. A record that they lack would look like a member without one. Each cache is tried again until it has
 * caught up or the term ends; which ones are waited for, and for how long, is told by the health endpoints.
 */
import { textOf, type Log } from "../../kube/log.ts";
import { deadline, sleep, type Clock } from "../../seams/clock.ts";

export interface CatchingCache {
  readonly resource: string;
  /** Resolves when it holds what the API server held when it was asked. */
  catchUp(signal: AbortSignal): Promise<void>;
}

export interface TakeOverOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly caches: () => readonly CatchingCache[];
}

/** How far a new leader is. */
export interface CatchingUp {
  readonly forMs: number;
  /** The resources whose caches are still behind. */
  readonly resources: readonly string[];
}

/** One try. A cache whose watch died is filled anew meanwhile, and the next try finds it so. */
const TRY_MS = 30_000;
const AGAIN_MS = 1_000;

export class TakeOver {
  readonly #options: TakeOverOptions;
  readonly #behind = new Set<CatchingCache>();
  /** By the monotonic clock. */
  #since = 0;

  constructor(options: TakeOverOptions) {
    this.#options = options;
  }

  /** Undefined when none is under way. */
  get catchingUp(): CatchingUp | undefined {
    if (this.#behind.size === 0) return undefined;
    const resources = [...new Set([...this.#behind].map(({ resource }) => resource))];
    return { forMs: this.#options.clock.monotonic() - this.#since, resources };
  }

  /** Resolves when all caches have caught up, or `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log, caches } = this.#options;
    this.#since = clock.monotonic();
    for (const cache of caches()) this.#behind.add(cache);
    await Promise.all([...this.#behind].map((cache) => this.#follow(cache, signal)));
    this.#behind.clear();
    const tookMs = Math.round(clock.monotonic() - this.#since);
    if (!signal.aborted) log("info", `the caches caught up with the API server in ${tookMs} ms`);
  }

  async #follow(cache: CatchingCache, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    while (!signal.aborted) {
      using limit = deadline(clock, TRY_MS, signal);
      try {
        await cache.catchUp(limit.signal);
        this.#behind.delete(cache);
        return;
      } catch (error) {
        if (signal.aborted) return;
        log(
          "warn",
          `waiting for the cache of ${cache.resource} to catch up before acting: ${textOf(error)}`,
          {
            error,
          },
        );
      }
      await sleep(clock, AGAIN_MS, signal).catch(() => undefined);
    }
  }
}
