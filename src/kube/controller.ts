/**
 * Sources → keys → reconcile. Protects the process from what a reconcile throws, and the reconcile from half a
 * view: nothing runs before every source has seen all its objects once.
 */
import type { Clock } from "../seams/clock.ts";
import type { Random } from "../seams/random.ts";
import { KubeError } from "./errors.ts";
import { silent, textOf, type Log, type LogFields } from "./log.ts";
import { WorkQueue, type Outcome, type QueueOptions } from "./queue.ts";
import { keyOf, type KubeObject } from "./resources.ts";
import type { Store } from "./store.ts";

/** Where keys come from. */
export interface Source {
  whenSynced(signal: AbortSignal): Promise<void>;
  /** Every key there is now. */
  keys(): Iterable<string>;
  /** Tells keys that something happened to, and what went wrong in that; returns how to stop it. */
  listen(wake: (key: string) => void, onError: (error: unknown) => void): () => void;
}

/** A store as a source: each object is about the keys that `toKeys` names, its own by default. */
export function source<T extends KubeObject>(
  store: Pick<Store<T>, "whenSynced" | "list" | "onChange">,
  toKeys: (object: T) => Iterable<string> = (object) => [keyOf(object)],
): Source {
  return {
    whenSynced: (signal) => store.whenSynced(signal),
    keys: () => new Set(store.list().flatMap((object) => [...toKeys(object)])),
    listen: (wake, onError) =>
      store.onChange(({ before, after }) => {
        try {
          // Also those it was about before: an object may change hands.
          const keys = new Set<string>(before === undefined ? [] : toKeys(before));
          for (const key of after === undefined ? [] : toKeys(after)) keys.add(key);
          for (const key of keys) wake(key);
        } catch (error) {
          // One strange object must not end the cache that everybody reads.
          onError(error);
        }
      }),
  };
}

export interface ControllerOptions extends Pick<QueueOptions, "concurrency" | "mostKeys" | "backoff"> {
  readonly name: string;
  /** What the log says of a key, beside the error. */
  readonly fields?: (key: string) => LogFields;
  readonly clock: Clock;
  readonly random: Random;
  readonly sources: readonly Source[];
  /** Makes the world right for one key. Gets no event on purpose: it looks at what is, not at what happened. */
  readonly reconcile: (key: string, signal: AbortSignal) => Promise<Outcome>;
  readonly log?: Log;
}

export class Controller {
  readonly queue: WorkQueue;
  readonly #options: ControllerOptions;
  readonly #log: Log;
  readonly #ending = new AbortController();
  #unlisten: (() => void)[] = [];
  #starting: Promise<void> | undefined;

  constructor(options: ControllerOptions) {
    this.#options = options;
    this.#log = options.log ?? silent;
    this.queue = new WorkQueue({
      ...options,
      work: (key, signal) => options.reconcile(key, signal),
      onFailure: (key, error, failures) => this.#failed(key, error, failures),
      onRoom: () => this.#offerAll(),
    });
  }

  /** Resolves when all sources are in step and work has begun. */
  async start(): Promise<void> {
    this.#starting ??= this.#start();
    await this.#starting;
  }

  /** Looks at a key now, whatever the sources say. */
  wake(key: string): void {
    this.queue.add(key);
  }

  async stop(graceMs?: number): Promise<void> {
    this.#ending.abort(new Error("stopped"));
    for (const unlisten of this.#unlisten.splice(0)) unlisten();
    await this.queue.stop(graceMs);
  }

  async #start(): Promise<void> {
    const { sources } = this.#options;
    this.#unlisten = sources.map((one) =>
      one.listen(
        (key) => this.wake(key),
        (error) => this.#log("error", `${this.#options.name}: ${textOf(error)}`, { error }),
      ),
    );
    await Promise.all(sources.map((one) => one.whenSynced(this.#ending.signal)));
    this.#offerAll();
    this.queue.start();
  }

  #offerAll(): void {
    for (const one of this.#options.sources) for (const key of one.keys()) this.wake(key);
  }

  #failed(key: string, error: unknown, failures: number): number | undefined {
    // A conflict is somebody else's success; it is told only when it does not end.
    const expected = error instanceof KubeError && error.reason === "Conflict" && failures < 3;
    const text = `${this.#options.name} ${key}: ${textOf(error)} (failure ${failures} in a row)`;
    this.#log(expected ? "info" : "warn", text, { ...this.#options.fields?.(key), failures, error });
    return error instanceof KubeError ? error.retryAfterMs : undefined;
  }
}
