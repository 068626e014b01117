/**
 * The EtcdSnapshots or EtcdSnapshotSchedules of a local cluster: a file each in its directory. People apply and delete
 * them, the controller writes their status and makes those of schedules.
 */
import type { EtcdSnapshotSchedule } from "../api/etcd-snapshot-schedule.ts";
import type { EtcdSnapshot } from "../api/etcd-snapshot.ts";
import { canonical } from "../core/template/hash.ts";
import {
  ResourceFiles,
  resourceOf,
  type FoundResources,
  type Place,
  type ReadVersion,
  type StoredResource,
} from "./resource-files.ts";
import type { StoreSeams } from "./store.ts";

export type SnapshotObject = EtcdSnapshot | EtcdSnapshotSchedule;
export type SnapshotKind = SnapshotObject["kind"];

/** What labels, annotations and finalizers say on Kubernetes. */
export interface SnapshotMarks {
  /** The UID of the schedule that made it. */
  readonly schedule?: string;
  /** The minor version of etcd before whose rollout it was taken. */
  readonly before?: string;
  /** The UID of the cluster or operation that restores it: a point in time that was built for it. */
  readonly restores?: string;
  /** What asked for its last verification. */
  readonly verifyRequest?: string;
  /** Its object in the store goes first when it is deleted. */
  readonly held?: boolean;
}

export interface StoredSnapshot<T extends SnapshotObject> extends SnapshotMarks, StoredResource {
  readonly generation: number;
  readonly spec: T["spec"];
  readonly status: NonNullable<T["status"]>;
}

export class SnapshotStore<T extends SnapshotObject> {
  readonly #kind: T["kind"];
  readonly #files: ResourceFiles<StoredSnapshot<T>>;

  constructor(kind: T["kind"], place: Place, seams: StoreSeams) {
    this.#kind = kind;
    this.#files = new ResourceFiles(place, seams);
  }

  /** By time of creation. */
  async list(): Promise<FoundResources<StoredSnapshot<T>>> {
    return await this.#files.list();
  }

  async get(name: string): Promise<StoredSnapshot<T> | undefined> {
    return await this.#files.get(name);
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
        await this.#create(name, spec, marks);
        return "created";
      }
      const respecified = canonical(before.spec) !== canonical(spec);
      const asks = marks.verifyRequest !== undefined && marks.verifyRequest !== before.verifyRequest;
      if (!respecified && !asks) return "unchanged";
      const generation = before.generation + (respecified ? 1 : 0);
      await this.#files.update(before, changed<T>({ ...marks, spec, generation }));
      return "configured";
    });
  }

  /** What is there under this name afterwards: a repeated create finds what the first one made. */
  async create(name: string, spec: T["spec"], marks: SnapshotMarks): Promise<StoredSnapshot<T>> {
    return await this.#files.inTurn(
      async () => (await this.get(name)) ?? (await this.#create(name, spec, marks)),
    );
  }

  async #create(name: string, spec: T["spec"], marks: SnapshotMarks): Promise<StoredSnapshot<T>> {
    const status = { observedGeneration: -1 } as NonNullable<T["status"]>;
    return await this.#files.create(name, { generation: 1, ...marks, spec, status });
  }

  /** Under the version that was read. */
  async change(read: Required<ReadVersion>, change: Change<T>): Promise<void> {
    await this.#files.inTurn(async () => {
      const before = await this.#files.atVersion(read);
      const { deletedAt, held } = { ...before, ...change };
      // It was waiting for just that.
      if (deletedAt !== undefined && held !== true) await this.#files.remove(read.name);
      else await this.#files.update(before, changed<T>(change));
    });
  }

  /** At once, or when its object in the store is gone. False if there is none. */
  async delete(name: string, uid?: string): Promise<boolean> {
    return await this.#files.inTurn(async () => {
      const before = await this.get(name);
      if (before === undefined || (uid !== undefined && before.uid !== uid)) return false;
      if (before.held === true) await this.#files.markDeleted(before);
      else await this.#files.remove(name);
      return true;
    });
  }

  toObject(stored: StoredSnapshot<T>): T {
    return resourceOf<T>(this.#kind, stored);
  }
}

type Change<T extends SnapshotObject> = Partial<
  SnapshotMarks & Pick<StoredSnapshot<T>, "spec" | "status" | "deletedAt" | "generation">
>;

/** The compiler does not see that it is a part of what is stored, whichever kind that is. */
function changed<T extends SnapshotObject>(change: Change<T>): Partial<StoredSnapshot<T>> {
  return change as Partial<StoredSnapshot<T>>;
}
