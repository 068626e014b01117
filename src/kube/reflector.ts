/**
 * Watch → store: keeps a store equal to a scope of the server's objects, and shows our own writes in it at once.
 */
import type { Clock } from "../seams/clock.ts";
import type { Random } from "../seams/random.ts";
import { catchUp } from "./catch-up.ts";
import type { KubeClient } from "./client.ts";
import type { KubeError } from "./errors.ts";
import { silent, textOf, type Log } from "./log.ts";
import type { KubeObject, Resource } from "./resources.ts";
import { isInScope, type Scope } from "./scope.ts";
import { Store, type Index } from "./store.ts";
import { watch, type WatchOptions } from "./watch.ts";

export interface ReflectorOptions<T extends KubeObject, I extends string> extends Pick<
  WatchOptions,
  "backoff" | "quietMs" | "openMs"
> {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly resource: Resource<T>;
  readonly scope?: Scope;
  readonly indexes?: Readonly<Record<I, Index<T>>>;
  /** What need not be kept of an object. It is given a copy of its own to take from. */
  readonly keep?: (object: T) => T;
  readonly log?: Log;
}

export class Reflector<T extends KubeObject, I extends string = never> {
  readonly store: Store<T, I>;
  readonly #options: ReflectorOptions<T, I>;
  readonly #ending = new AbortController();
  #running: Promise<void> | undefined;
  #trouble: KubeError | undefined;
  #ended = false;

  constructor(options: ReflectorOptions<T, I>) {
    this.#options = options;
    this.store = new Store(options.indexes);
  }

  /** Which objects are followed. */
  get scope(): Scope {
    return this.#options.scope ?? {};
  }

  /** Why the store may be behind; undefined while all is well. */
  get trouble(): KubeError | undefined {
    return this.#trouble;
  }

  /** By an error of ours: the store stays as it is for ever, and the process has to be restarted. */
  get ended(): boolean {
    return this.#ended;
  }

  /** Resolves when the store holds everything that the server holds now. */
  async catchUp(signal: AbortSignal): Promise<void> {
    const { client, resource, scope = {} } = this.#options;
    await catchUp(client, resource, scope, this.store, signal);
  }

  start(): void {
    this.#running ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#ending.abort(new Error("stopped"));
    await this.#running;
  }

  async #run(): Promise<void> {
    const { client, resource, scope = {}, log = silent, keep } = this.#options;
    const kept = (object: T) => (keep === undefined ? object : keep(object));
    const forget = client.onWrite((written, write) => {
      if (written.plural !== resource.plural || written.group !== resource.group) return;
      if (write.type === "gone") this.store.gone(write.key, write.uid);
      else if (isInScope(write.object, scope)) this.store.wrote(kept(write.object as T));
    });
    const options: WatchOptions = { ...this.#options, signal: this.#ending.signal };
    try {
      for await (const event of watch(client, resource, scope, options)) {
        if (event.type === "troubled") {
          this.#trouble = event.error;
          log("warn", `${event.error.message}; next try in ${event.retryMs} ms`, { error: event.error });
        } else {
          if (event.type !== "restarted") this.#trouble = undefined;
          this.store.handle(event.type === "applied" ? { ...event, object: kept(event.object) } : event);
        }
      }
    } catch (error) {
      // Not the server's doing, so it would be the same again: a program error, told and not hidden.
      this.#ended = true;
      log("error", `the cache of ${resource.plural} stopped: ${textOf(error)}`, { error });
    } finally {
      forget();
    }
  }
}
