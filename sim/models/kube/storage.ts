/**
 * What is stored, and every change since the last compaction: one counter for all kinds, as etcd's revision is.
 * The past can be read as long as it is kept, which is what pages, watches and stale servers do.
 */
import type { Kind } from "./kind.ts";
import { NOBODY, toManagedFields, type Managers } from "./managed.ts";
import { frozen, type KubeJson } from "./object.ts";
import { expired } from "./refusal.ts";

/** An object with its managers, which are worked out when somebody asks. */
export class Stored {
  readonly object: KubeJson;
  #managers: (() => Managers) | undefined;
  #known: Managers = NOBODY;
  #shown: KubeJson | undefined;
  /** How many writes are to be looked at to know the managers. */
  readonly depth: number;

  constructor(object: KubeJson, managers: () => Managers, depth = 0) {
    this.object = frozen(object);
    this.#managers = managers;
    this.depth = depth;
    // Every unasked question keeps the object before alive.
    if (depth > 50) void this.managers;
  }

  get managers(): Managers {
    if (this.#managers !== undefined) {
      this.#known = this.#managers();
      this.#managers = undefined;
    }
    return this.#known;
  }

  /** Whether the managers were worked out already, and nothing before is needed for them. */
  get isKnown(): boolean {
    return this.#managers === undefined;
  }

  /** As a client sees it that does not leave managedFields out. */
  get shown(): KubeJson {
    this.#shown ??= this.#show();
    return this.#shown;
  }

  #show(): KubeJson {
    const managedFields = toManagedFields(this.managers);
    if (managedFields.length === 0) return this.object;
    return frozen({ ...this.object, metadata: { ...this.object.metadata, managedFields } });
  }
}

export interface Change {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly version: number;
  readonly at: number;
  readonly kind: Kind;
  readonly key: string;
  readonly before: Stored | undefined;
  /** With the version of the change, also when it is the end of the object. */
  readonly after: Stored;
}

/** Where the counter begins: everything below was before anybody looked. */
const FIRST = 1_000;

export class Storage {
  readonly #now: () => number;
  readonly #objects = new Map<Kind, Map<string, Stored>>();
  readonly #sorted = new Map<Kind, readonly string[]>();
  readonly #log = new Map<Kind, Change[]>();
  readonly #listeners = new Set<(change: Change) => void>();
  #version = FIRST;
  #compacted = FIRST;

  constructor(now: () => number) {
    this.#now = now;
  }

  get version(): number {
    return this.#version;
  }

  /** Up to here the past is forgotten. */
  get compacted(): number {
    return this.#compacted;
  }

  onChange(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  get(kind: Kind, key: string): Stored | undefined {
    return this.#objects.get(kind)?.get(key);
  }

  /** The next version, which the object to be written carries. */
  get next(): string {
    return String(this.#version + 1);
  }

  put(kind: Kind, key: string, after: Stored): void {
    const all = this.#of(kind);
    const before = all.get(key);
    if (before === undefined) this.#sorted.delete(kind);
    all.set(key, after);
    this.#happened(before === undefined ? "ADDED" : "MODIFIED", kind, key, before, after);
  }

  remove(kind: Kind, key: string, after: Stored): void {
    const all = this.#of(kind);
    const before = all.get(key);
    all.delete(key);
    this.#sorted.delete(kind);
    this.#happened("DELETED", kind, key, before, after);
  }

  /** A write that changes no object of ours: somebody else's, or an allocation. */
  skip(): void {
    this.#version++;
  }

  /** All of a kind in the order of their keys, now or at an earlier version. */
  list(kind: Kind, version = this.#version): readonly (readonly [string, Stored])[] {
    const now = this.#of(kind);
    if (version >= this.#version) {
      const keys = this.#sorted.get(kind) ?? [...now.keys()].toSorted();
      this.#sorted.set(kind, keys);
      return keys.map((key) => [key, now.get(key) as Stored] as const);
    }
    const then = new Map(now);
    this.#rewind(kind, version, then);
    return [...then].toSorted(([a], [b]) => (a < b ? -1 : 1));
  }

  #rewind(kind: Kind, version: number, objects: Map<string, Stored>): void {
    if (version < this.#compacted) throw expired("The provided resource version is too old.");
    const log = this.#log.get(kind) ?? [];
    for (let i = log.length - 1; i >= 0; i--) {
      const change = log[i] as Change;
      if (change.version <= version) return;
      if (change.before === undefined) objects.delete(change.key);
      else objects.set(change.key, change.before);
    }
  }

  /** What happened to a kind after a version. */
  since(kind: Kind, version: number): readonly Change[] {
    const log = this.#log.get(kind) ?? [];
    let from = log.length;
    while (from > 0 && (log[from - 1] as Change).version > version) from--;
    return log.slice(from);
  }

  /** Forgets the past up to a version. */
  compact(version = this.#version): void {
    this.#compacted = Math.max(this.#compacted, Math.min(version, this.#version));
    for (const [kind, log] of this.#log)
      this.#log.set(
        kind,
        log.filter((change) => change.version > this.#compacted),
      );
  }

  /** The same, by age: what is older than this. */
  compactOlderThan(ms: number): void {
    const oldest = this.#now() - ms;
    let version = this.#compacted;
    for (const log of this.#log.values())
      for (const change of log) if (change.at < oldest) version = Math.max(version, change.version);
    if (version > this.#compacted) this.compact(version);
  }

  /** Back to an earlier state, which a restored backup is: versions are given out a second time. */
  restore(version: number): void {
    for (const kind of this.#objects.keys()) {
      this.#objects.set(kind, new Map(this.list(kind, version)));
      this.#sorted.delete(kind);
    }
    this.#log.clear();
    this.#version = version;
    this.#compacted = version;
  }

  #of(kind: Kind): Map<string, Stored> {
    const known = this.#objects.get(kind);
    if (known) return known;
    const fresh = new Map<string, Stored>();
    this.#objects.set(kind, fresh);
    return fresh;
  }

  #happened(type: Change["type"], kind: Kind, key: string, before: Stored | undefined, after: Stored): void {
    const version = ++this.#version;
    const change: Change = { type, version, at: this.#now(), kind, key, before, after };
    const log = this.#log.get(kind);
    if (log) log.push(change);
    else this.#log.set(kind, [change]);
    for (const listener of this.#listeners) listener(change);
  }
}
