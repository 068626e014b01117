/**
 * The objects of one scope as last seen, with indexes. Protects from acting on less than one's own last write
 * (a watch lags: without the overlay a controller creates twice), from events that come twice or late, and from
 * readers that change what they read. While a new first state comes in, the old one stays readable.
 */
import { isNewer, keyOf, type KubeObject } from "./resources.ts";
import { deepFrozen, stripped } from "./strip.ts";
import type { WatchEvent } from "./watch.ts";

export interface Change<T> {
  readonly key: string;
  readonly before: T | undefined;
  readonly after: T | undefined;
}

/** Values under which an object can be found again. */
export type Index<T> = (object: T) => Iterable<string>;

/** UIDs of objects whose deletion was confirmed to us and not yet seen; older ones are seen long since. */
const MOST_TOMBSTONES = 10_000;

export class Store<T extends KubeObject, I extends string = never> {
  readonly #objects = new Map<string, T>();
  readonly #indexes: { readonly name: I; readonly of: Index<T>; readonly keys: Map<string, Set<string>> }[];
  readonly #listeners = new Set<(change: Change<T>) => void>();
  readonly #waiting = new Set<() => void>();
  /** Writes of ours that the watch has not reached yet. */
  readonly #written = new Map<string, T>();
  readonly #tombstones = new Set<string>();
  /** The first state that is coming in. */
  #incoming: Map<string, T> | undefined;
  #synced = false;
  #resourceVersion: string | undefined;

  constructor(indexes: Readonly<Record<I, Index<T>>> = {} as Record<I, Index<T>>) {
    this.#indexes = Object.entries<Index<T>>(indexes).map(([name, of]) => ({
      name: name as I,
      of,
      keys: new Map(),
    }));
  }

  /** Everything was seen at least once. Before that, absence means nothing. */
  get synced(): boolean {
    return this.#synced;
  }

  /** Up to where the watch has come. */
  get resourceVersion(): string | undefined {
    return this.#resourceVersion;
  }

  get size(): number {
    return this.#objects.size;
  }

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  list(): T[] {
    return [...this.#objects.values()];
  }

  keys(): string[] {
    return [...this.#objects.keys()];
  }

  /** The objects that the index put under this value. */
  by(index: I, value: string): T[] {
    const keys = this.#indexes.find(({ name }) => name === index)?.keys.get(value) ?? [];
    return [...keys].flatMap((key) => this.#objects.get(key) ?? []);
  }

  /** Called after each change; must not throw. Returns how to stop it. */
  onChange(listener: (change: Change<T>) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Resolves when everything was seen once. */
  async whenSynced(signal: AbortSignal): Promise<void> {
    await this.#until(() => this.#synced, signal);
  }

  /** Resolves when the watch has come as far as this: what others wrote until then is seen too. */
  async whenReached(resourceVersion: string, signal: AbortSignal): Promise<void> {
    await this.#until(() => this.hasReached(resourceVersion), signal);
  }

  hasReached(resourceVersion: string): boolean {
    return this.#synced && isNewer(resourceVersion, this.#resourceVersion) === false;
  }

  /**
   * Resolves when nothing of a whole list is missing here, or as it was before, and nothing is here that was gone by then.
   * `resourceVersion` is the list's: what is younger was not there yet.
   */
  async whenCovering(
    listed: readonly KubeObject[],
    resourceVersion: string,
    signal: AbortSignal,
  ): Promise<void> {
    const names = new Set(listed.map(keyOf));
    const isHere = (object: KubeObject) => {
      const known = this.#objects.get(keyOf(object))?.metadata?.resourceVersion;
      return known !== undefined && isNewer(object.metadata?.resourceVersion, known) === false;
    };
    const mayBeHere = ([key, { metadata }]: readonly [string, T]) =>
      names.has(key) || isNewer(metadata?.resourceVersion, resourceVersion) === true;
    const covers = () => listed.every(isHere) && [...this.#objects].every(mayBeHere);
    await this.#until(() => this.hasReached(resourceVersion) || (this.#synced && covers()), signal);
  }

  handle(event: WatchEvent<T>): void {
    this.#take(event);
    this.#wake();
  }

  #take(event: WatchEvent<T>): void {
    switch (event.type) {
      case "restarted":
        this.#incoming = new Map();
        return;
      case "applied":
        if (this.#incoming === undefined) this.#applied(deepFrozen(stripped(event.object)));
        else this.#incoming.set(keyOf(event.object), deepFrozen(stripped(event.object)));
        return;
      case "deleted":
        if (this.#incoming === undefined) this.#deleted(event.object);
        else this.#incoming.delete(keyOf(event.object));
        return;
      case "synced":
        this.#replace(this.#incoming ?? new Map(), event.resourceVersion);
        return;
      case "progress":
        if (this.#incoming === undefined) this.#advance(event.resourceVersion);
        return;
      case "troubled":
        return;
    }
  }

  /** A write of ours as the server answered it: shown at once, until the watch has caught up. */
  wrote(object: T): void {
    const frozen = deepFrozen(stripped(object));
    const { resourceVersion, uid = "" } = frozen.metadata ?? {};
    // The watch was faster; it may even have seen the object's end since.
    if (this.#synced && isNewer(resourceVersion, this.#resourceVersion) === false) return;
    if (isNewer(resourceVersion, this.#resourceVersion ?? "1") === undefined) return;
    if (this.#tombstones.has(uid)) return;
    const key = keyOf(frozen);
    if (isNewer(resourceVersion, this.#written.get(key)?.metadata?.resourceVersion) === false) return;
    this.#written.set(key, frozen);
    if (this.#synced) this.#put(key, frozen);
  }

  /** A deletion of ours that the server confirmed as done. */
  gone(key: string, uid: string): void {
    if (this.#tombstones.size >= MOST_TOMBSTONES) {
      const [oldest = ""] = this.#tombstones;
      this.#tombstones.delete(oldest);
    }
    this.#tombstones.add(uid);
    if (this.#written.get(key)?.metadata?.uid === uid) this.#written.delete(key);
    if (this.#objects.get(key)?.metadata?.uid === uid) this.#remove(key);
  }

  #applied(object: T): void {
    const key = keyOf(object);
    const { resourceVersion, uid = "" } = object.metadata ?? {};
    this.#advance(resourceVersion);
    if (this.#tombstones.has(uid)) return;
    // Seen already, or about the time before a write of ours.
    const known = this.#objects.get(key)?.metadata?.resourceVersion;
    if (isNewer(resourceVersion, known) === false) return;
    this.#put(key, object);
  }

  #deleted(object: T): void {
    const key = keyOf(object);
    const { resourceVersion, uid = "" } = object.metadata ?? {};
    this.#advance(resourceVersion);
    this.#tombstones.delete(uid);
    const known = this.#objects.get(key)?.metadata;
    // The name may belong to a later object by now.
    if (known === undefined || isNewer(known.resourceVersion, resourceVersion) === true) return;
    this.#remove(key);
  }

  /** The first state is whole: it is the truth, but for writes of ours that are younger. */
  #replace(incoming: Map<string, T>, resourceVersion: string): void {
    this.#incoming = undefined;
    // Less than before, too: a control plane restored from a backup counts on from there.
    const restored = isNewer(this.#resourceVersion, resourceVersion) === true;
    if (restored) this.#written.clear();
    this.#resourceVersion = resourceVersion;
    this.#forgetWritten();
    const seen = new Set([...incoming.values()].map((object) => object.metadata?.uid ?? ""));
    for (const uid of this.#tombstones) if (!seen.has(uid)) this.#tombstones.delete(uid);
    for (const [key, object] of this.#written) incoming.set(key, object);
    for (const key of this.keys()) if (!incoming.has(key)) this.#remove(key);
    for (const [key, object] of incoming) {
      if (this.#tombstones.has(object.metadata?.uid ?? "")) this.#remove(key);
      else if (!isSame(this.#objects.get(key), object)) this.#put(key, object);
    }
    this.#synced = true;
  }

  #advance(resourceVersion: string | undefined): void {
    if (resourceVersion === undefined || isNewer(resourceVersion, this.#resourceVersion) === false) return;
    this.#resourceVersion = resourceVersion;
    this.#forgetWritten();
  }

  #forgetWritten(): void {
    for (const [key, object] of this.#written)
      if (isNewer(object.metadata?.resourceVersion, this.#resourceVersion) === false)
        this.#written.delete(key);
  }

  #put(key: string, after: T): void {
    const before = this.#objects.get(key);
    this.#objects.set(key, after);
    this.#reindex(key, before, after);
    this.#tell({ key, before, after });
  }

  #remove(key: string): void {
    const before = this.#objects.get(key);
    if (before === undefined) return;
    this.#objects.delete(key);
    this.#reindex(key, before, undefined);
    this.#tell({ key, before, after: undefined });
  }

  #reindex(key: string, before: T | undefined, after: T | undefined): void {
    for (const { of, keys } of this.#indexes) {
      for (const value of before === undefined ? [] : of(before)) {
        const under = keys.get(value);
        under?.delete(key);
        if (under?.size === 0) keys.delete(value);
      }
      for (const value of after === undefined ? [] : of(after)) {
        const under = keys.get(value) ?? new Set();
        keys.set(value, under.add(key));
      }
    }
  }

  #tell(change: Change<T>): void {
    for (const listener of this.#listeners) listener(change);
  }

  #wake(): void {
    for (const look of this.#waiting) look();
  }

  async #until(holds: () => boolean, signal: AbortSignal): Promise<void> {
    if (holds()) return;
    await new Promise<void>((resolve, reject) => {
      const settle = (end: () => void) => {
        this.#waiting.delete(look);
        signal.removeEventListener("abort", onAbort);
        end();
      };
      const look = () => {
        if (holds()) settle(resolve);
      };
      const onAbort = () =>
        settle(() => reject(signal.reason instanceof Error ? signal.reason : new Error("stopped")));
      this.#waiting.add(look);
      signal.addEventListener("abort", onAbort, { once: true });
      if (signal.aborted) onAbort();
    });
  }
}

function isSame(a: KubeObject | undefined, b: KubeObject): boolean {
  return (
    a !== undefined &&
    a.metadata?.uid === b.metadata?.uid &&
    a.metadata?.resourceVersion === b.metadata?.resourceVersion
  );
}
