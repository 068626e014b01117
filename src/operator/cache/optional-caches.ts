/**
 * Caches of kinds that the API server may refuse, or may not serve at all: each is filled once it can be. What is not
 * filled counts as refused here, and the operator works without it.
 */
import type { KubeClient } from "../../kube/client.ts";
import { isReason, KubeError } from "../../kube/errors.ts";
import type { Log } from "../../kube/log.ts";
import type { KubeObject } from "../../kube/resources.ts";
import type { Scope } from "../../kube/scope.ts";
import { backoffMs, type Backoff } from "../../seams/backoff.ts";
import { sleep, type Clock } from "../../seams/clock.ts";
import type { Random } from "../../seams/random.ts";
import type { Kind } from "../kinds.ts";
import type { Cache } from "./kind-caches.ts";

const ASK_AGAIN: Backoff = { firstMs: 200, longestMs: 5_000 };
/** Who is asked for longer is worked without meanwhile. */
const ANSWERED_MS = 5_000;
/** A definition or a role that an administrator applies. */
const RETRY_MS = 15_000;

interface Options {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export class OptionalCaches {
  readonly #options: Options;
  /** Not filled, because the API server refuses or does not serve what they hold. */
  readonly #refused = new Set<object>();
  /** Those of them that a cluster has asked for, until it is known whether they can be filled. */
  readonly #asked = new Map<object, Promise<unknown>>();

  constructor(options: Options) {
    this.#options = options;
  }

  isRefused(reflector: object): boolean {
    return this.#refused.has(reflector);
  }

  /** Not to be filled before a cluster asks for it. */
  onDemand({ reflector }: Cache): void {
    this.#refused.add(reflector);
  }

  /**
   * A cluster asks for it; true once it is filled. That it is not is said only when the API server has refused it, or has
   * not answered for a while: each operator asks anew when it starts.
   */
  async demand(cache: Cache, life: AbortSignal | undefined): Promise<boolean> {
    const { reflector } = cache;
    if (life && !this.#asked.has(reflector)) {
      const asked = this.start(cache, life).catch(() => undefined);
      this.#asked.set(
        reflector,
        Promise.race([asked, sleep(this.#options.clock, ANSWERED_MS, life)]).catch(() => undefined),
      );
    }
    await this.#asked.get(reflector);
    return this.isFilled(cache);
  }

  isFilled({ reflector }: Cache): boolean {
    return reflector.store.synced && !this.#refused.has(reflector);
  }

  /** Fills it if that is allowed; resolves when it is filled, or refused. */
  async start({ kind, reflector }: Cache, signal: AbortSignal): Promise<void> {
    const { log } = this.#options;
    const { resource, ifRefused } = kind;
    const refusal = await this.#refusal(kind, reflector.scope, signal);
    if (refusal) {
      this.#refused.add(reflector);
      const next = ifRefused !== "DoWithout" ? `; asking again every ${RETRY_MS / 1000} s` : "";
      log("info", `cannot read ${resource.plural}: ${refusal.message}${next}`);
      // Nothing waits for it, and it ends with the process.
      if (ifRefused !== "DoWithout") this.#startLater({ kind, reflector }, signal).catch(() => undefined);
      return;
    }
    this.#refused.delete(reflector);
    reflector.start();
    await reflector.store.whenSynced(signal);
  }

  async #startLater({ kind, reflector }: Cache, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    do await sleep(clock, RETRY_MS, signal);
    while (await this.#refusal(kind, reflector.scope, signal));
    this.#refused.delete(reflector);
    log("info", `following ${kind.resource.plural} from now on`);
    reflector.start();
  }

  /** Asked until it is answered: a cache that may not be filled would be waited for without end. */
  async #refusal({ resource }: Kind, scope: Scope, signal: AbortSignal): Promise<KubeError | undefined> {
    const { client, clock, random } = this.#options;
    for (let failures = 1; ; failures++) {
      try {
        for await (const _ of client.pages<KubeObject>(resource, scope, { pageSize: 1, signal })) break;
        return undefined;
      } catch (error) {
        if (isReason(error, "Forbidden", "NotFound")) return error;
        if (signal.aborted || !(error instanceof KubeError)) throw error;
        await sleep(clock, backoffMs(failures, ASK_AGAIN, random), signal);
      }
    }
  }
}
