/**
 * The resources of one kind in the directory of a local cluster, a file each. What an API server does for them is done
 * here: a UID, generations, and changes under the version that was read (H10).
 */
import type { Problem } from "../control/problem.ts";
import path from "node:path";
import { API_VERSION } from "../api/metadata.ts";
import { Conflict } from "../control/platform.ts";
import type { Clock } from "../seams/clock.ts";
import { hex, type Random } from "../seams/random.ts";
import type { StoreSeams } from "./store.ts";
import { DamagedFile, FORMAT, StoredFiles } from "./stored-files.ts";

export interface StoredResource {
  readonly format: typeof FORMAT;
  readonly uid: string;
  readonly name: string;
  readonly createdAt: number;
  /** Absent in files of operations, whose spec never changes. */
  readonly generation?: number;
  readonly resourceVersion: number;
  readonly deletedAt?: number;
  readonly spec: object;
  readonly status: object;
}

/** Where the files of a kind are. */
export interface Place {
  readonly directory: string;
  readonly file: (name: string) => string;
}

/** What a change was decided on. */
export interface ReadVersion {
  readonly name: string;
  readonly uid?: string;
  readonly resourceVersion: string;
}

export interface FoundResources<S extends StoredResource> {
  readonly stored: readonly S[];
  /** Whose files cannot be understood: they stop nothing but themselves, and what depends on them. */
  readonly damaged: readonly { readonly name: string; readonly why: string }[];
}

export function problemOfFile({ name, why }: FoundResources<StoredResource>["damaged"][number]): Problem {
  return { key: `damaged file ${name}`, message: why };
}

type Own = "format" | "uid" | "name" | "createdAt" | "resourceVersion";

export class ResourceFiles<S extends StoredResource> {
  readonly #place: Place;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #files: StoredFiles;

  constructor(place: Place, { disk, clock, random }: StoreSeams) {
    this.#place = place;
    this.#clock = clock;
    this.#random = random;
    this.#files = new StoredFiles(disk);
  }

  /** By time of creation. */
  async list(): Promise<FoundResources<S>> {
    const damaged: { name: string; why: string }[] = [];
    const stored: S[] = [];
    for (const file of await this.#files.list(this.#place.directory)) {
      try {
        const one = await this.#files.read<S>(file);
        if (one) stored.push(one);
      } catch (error) {
        if (!(error instanceof DamagedFile)) throw error;
        damaged.push({ name: path.basename(file, ".json"), why: error.message });
      }
    }
    return {
      stored: stored.toSorted((a, b) => a.createdAt - b.createdAt || (a.name < b.name ? -1 : 1)),
      damaged,
    };
  }

  async get(name: string): Promise<S | undefined> {
    return await this.#files.read<S>(this.#place.file(name));
  }

  /** For changes that read before they write: one after another. */
  inTurn<T>(change: () => Promise<T>): Promise<T> {
    return this.#files.inTurn(change);
  }

  async create(name: string, fields: Omit<S, Own>): Promise<S> {
    const created = {
      format: FORMAT,
      uid: hex(this.#random, 8),
      name,
      createdAt: this.#clock.now(),
      resourceVersion: 1,
      ...fields,
    } as unknown as S;
    await this.#files.write(this.#place.file(name), created);
    return created;
  }

  async update(before: S, change: Partial<S>): Promise<void> {
    const after = { ...before, ...change, resourceVersion: before.resourceVersion + 1 };
    await this.#files.write(this.#place.file(before.name), after);
  }

  async remove(name: string): Promise<void> {
    await this.#files.remove(this.#place.file(name));
  }

  /** Waits for what has to go first, as with a finalizer. */
  async markDeleted(before: S): Promise<void> {
    if (before.deletedAt !== undefined) return;
    const deleted: Pick<StoredResource, "deletedAt"> = { deletedAt: this.#clock.now() };
    await this.update(before, deleted as Partial<S>);
  }

  /** The file as it was read; a `Conflict` when it is another one by now. */
  async atVersion({ name, uid, resourceVersion }: ReadVersion): Promise<S> {
    const file = this.#place.file(name);
    const before = await this.get(name);
    if (before === undefined || (uid !== undefined && before.uid !== uid))
      throw new Conflict(`${file} no longer exists`);
    if (String(before.resourceVersion) !== resourceVersion)
      throw new Conflict(`${file} is at version ${before.resourceVersion}, not ${resourceVersion}`);
    return before;
  }
}

/** As an API server would give it. */
export function resourceOf<T>(kind: string, stored: StoredResource): T {
  const { name, uid, generation = 1, resourceVersion, createdAt, deletedAt, spec, status } = stored;
  const iso = (ms: number) => new Date(ms).toISOString();
  return {
    apiVersion: API_VERSION,
    kind,
    metadata: {
      name,
      namespace: "local",
      uid,
      generation,
      resourceVersion: String(resourceVersion),
      creationTimestamp: iso(createdAt),
      ...(deletedAt !== undefined && { deletionTimestamp: iso(deletedAt) }),
    },
    spec,
    status,
  } as T;
}
