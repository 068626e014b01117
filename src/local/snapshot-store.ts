/**
 * The EtcdSnapshots and EtcdSnapshotSchedules of a local cluster: a file each in its directory. People apply and delete
 * them, the controller writes them under the version that it read, as with an API server (H10).
 */
import path from "node:path";
import type { EtcdSnapshotSchedule } from "../api/etcd-snapshot-schedule.ts";
import type { EtcdSnapshot } from "../api/etcd-snapshot.ts";
import { API_VERSION } from "../api/metadata.ts";
import { Conflict } from "../control/platform.ts";
import { canonical } from "../core/hash.ts";
import type { Clock } from "../seams/clock.ts";
import { hex, type Random } from "../seams/random.ts";
import type { StoreSeams } from "./store.ts";
import { DamagedFile, FORMAT, StoredFiles } from "./stored-files.ts";

export type SnapshotObject = EtcdSnapshot | EtcdSnapshotSchedule;
export type SnapshotKind = SnapshotObject["kind"];

/** What labels, annotations and finalizers say on Kubernetes. */
export interface SnapshotMarks {
  /** The UID of the schedule that made it. */
  readonly schedule?: string;
  /** The minor version of etcd before whose rollout it was taken. */
  readonly before?: string;
  /** What asked for its last verification. */
  readonly verifyRequest?: string;
  /** Its object in the store goes first when it is deleted. */
  readonly held?: boolean;
}

export interface StoredSnapshot<T extends SnapshotObject> extends SnapshotMarks {
  readonly format: typeof FORMAT;
  readonly uid: string;
  readonly name: string;
  readonly createdAt: number;
  readonly generation: number;
  readonly resourceVersion: number;
  readonly deletedAt?: number;
  readonly spec: T["spec"];
  readonly status: NonNullable<T["status"]>;
}

export interface FoundSnapshots<T extends SnapshotObject> {
  readonly stored: readonly StoredSnapshot<T>[];
  /** Whose files cannot be understood: they stop nothing but themselves, and what depends on them. */
  readonly damaged: readonly { readonly name: string; readonly why: string }[];
}

export class SnapshotStore<T extends SnapshotObject> {
  readonly #kind: T["kind"];
  readonly #directory: string;
  readonly #file: (name: string) => string;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #files: StoredFiles;

  constructor(
    kind: T["kind"],
    place: { readonly directory: string; readonly file: (name: string) => string },
    { disk, clock, random }: StoreSeams,
  ) {
    this.#kind = kind;
    this.#directory = place.directory;
    this.#file = place.file;
    this.#clock = clock;
    this.#random = random;
    this.#files = new StoredFiles(disk);
  }

  /** By time of creation. */
  async list(): Promise<FoundSnapshots<T>> {
    const damaged: { name: string; why: string }[] = [];
    const stored: StoredSnapshot<T>[] = [];
    for (const file of await this.#files.list(this.#directory)) {
      try {
        const one = await this.#files.read<StoredSnapshot<T>>(file);
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

  async get(name: string): Promise<StoredSnapshot<T> | undefined> {
    return await this.#files.read<StoredSnapshot<T>>(this.#file(name));
  }

  /** Creates it, or gives it another spec or another request. */
  async apply(
    name: string,
    spec: T["spec"],
    marks: SnapshotMarks = {},
  ): Promise<"created" | "configured" | "unchanged"> {
    return await this.#files.inTurn(async () => {
      const before = await this.get(name);
      if (before === undefined) {
        await this.#files.write(this.#file(name), this.#created(name, spec, marks));
        return "created";
      }
      const respecified = canonical(before.spec) !== canonical(spec);
      const asks = marks.verifyRequest !== undefined && marks.verifyRequest !== before.verifyRequest;
      if (!respecified && !asks) return "unchanged";
      await this.#files.write(this.#file(name), {
        ...before,
        ...marks,
        spec,
        generation: before.generation + (respecified ? 1 : 0),
        resourceVersion: before.resourceVersion + 1,
      });
      return "configured";
    });
  }

  /** What is there under this name afterwards: a repeated create finds what the first one made. */
  async create(name: string, spec: T["spec"], marks: SnapshotMarks): Promise<StoredSnapshot<T>> {
    return await this.#files.inTurn(async () => {
      const before = await this.get(name);
      if (before) return before;
      const created = this.#created(name, spec, marks);
      await this.#files.write(this.#file(name), created);
      return created;
    });
  }

  #created(name: string, spec: T["spec"], marks: SnapshotMarks): StoredSnapshot<T> {
    return {
      format: FORMAT,
      uid: hex(this.#random, 8),
      name,
      createdAt: this.#clock.now(),
      generation: 1,
      resourceVersion: 1,
      ...marks,
      spec,
      status: { observedGeneration: -1 } as NonNullable<T["status"]>,
    };
  }

  /** Under the version that was read. */
  async change(
    { name, uid, resourceVersion }: { name: string; uid: string; resourceVersion: string },
    change: Partial<SnapshotMarks & Pick<StoredSnapshot<T>, "spec" | "status" | "deletedAt">>,
  ): Promise<void> {
    await this.#files.inTurn(async () => {
      const file = this.#file(name);
      const before = await this.get(name);
      if (before?.uid !== uid) throw new Conflict(`${file} no longer exists`);
      if (String(before.resourceVersion) !== resourceVersion)
        throw new Conflict(`${file} is at version ${before.resourceVersion}, not ${resourceVersion}`);
      const after = { ...before, ...change, resourceVersion: before.resourceVersion + 1 };
      // It was waiting for just that.
      if (after.deletedAt !== undefined && after.held !== true) await this.#files.remove(file);
      else await this.#files.write(file, after);
    });
  }

  /** At once, or when its object in the store is gone. False if there is none. */
  async delete(name: string, uid?: string): Promise<boolean> {
    return await this.#files.inTurn(async () => {
      const before = await this.get(name);
      if (before === undefined || (uid !== undefined && before.uid !== uid)) return false;
      const resourceVersion = before.resourceVersion + 1;
      if (before.held !== true) await this.#files.remove(this.#file(name));
      else if (before.deletedAt === undefined)
        await this.#files.write(this.#file(name), {
          ...before,
          deletedAt: this.#clock.now(),
          resourceVersion,
        });
      return true;
    });
  }

  toObject(stored: StoredSnapshot<T>): T {
    const { name, uid, generation, resourceVersion, createdAt, deletedAt, spec, status } = stored;
    const iso = (ms: number) => new Date(ms).toISOString();
    return {
      apiVersion: API_VERSION,
      kind: this.#kind,
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
    } as unknown as T;
  }
}
