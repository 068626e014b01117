/**
 * The EtcdOperations of a local cluster: a file each in its directory. People create and delete them, the controller
 * writes their status.
 */
import type { EtcdOperation, EtcdOperationSpec, EtcdOperationStatus } from "../api/etcd-operation.ts";
import type { Action } from "../core/action.ts";
import { FINAL } from "../core/operations/status.ts";
import { Conflict } from "../control/platform.ts";
import type { Problem } from "../control/problem.ts";
import { hex, type Random } from "../seams/random.ts";
import type { Layout } from "./layout.ts";
import { problemOfFile, ResourceFiles, resourceOf, type StoredResource } from "./resource-files.ts";
import type { StoreSeams } from "./store.ts";

interface StoredOperation extends StoredResource {
  readonly spec: EtcdOperationSpec;
  readonly status: EtcdOperationStatus;
}

export interface FoundOperations {
  readonly operations: readonly EtcdOperation[];
  /** Files that cannot be understood, in words: they stop nothing but themselves. */
  readonly damaged: readonly Problem[];
}

export class OperationStore {
  readonly #random: Random;
  readonly #files: ResourceFiles<StoredOperation>;

  constructor(layout: Layout, seams: StoreSeams) {
    this.#random = seams.random;
    const place = { directory: layout.operations, file: (name: string) => layout.operation(name) };
    this.#files = new ResourceFiles(place, seams);
  }

  /** By time of creation. */
  async list(): Promise<FoundOperations> {
    const { stored, damaged } = await this.#files.list();
    return { operations: stored.map(toOperation), damaged: damaged.map(problemOfFile) };
  }

  /** Undefined if one of this name exists. */
  async create(name: string, spec: EtcdOperationSpec): Promise<EtcdOperation | undefined> {
    return await this.#files.inTurn(async () => {
      if ((await this.#files.get(name)) !== undefined) return undefined;
      return toOperation(await this.#files.create(name, { spec, status: { observedGeneration: -1 } }));
    });
  }

  /** A name that none has, beginning as asked. */
  generateName(prefix: string): string {
    return `${prefix}${hex(this.#random, 3)}`;
  }

  async report(name: string, resourceVersion: string, status: EtcdOperationStatus): Promise<void> {
    await this.#files.inTurn(async () => {
      await this.#files.update(await this.#files.atVersion({ name, resourceVersion }), { status });
    });
  }

  /** False if there is none of this name, or, with `uid`, if it is another one by now. */
  async remove(name: string, uid?: string): Promise<boolean> {
    return await this.#files.inTurn(async () => {
      const before = await this.#files.get(name);
      if (before === undefined || (uid !== undefined && before.uid !== uid)) return false;
      await this.#files.remove(name);
      return true;
    });
  }
}

function toOperation(stored: StoredOperation): EtcdOperation {
  return resourceOf<EtcdOperation>("EtcdOperation", stored);
}

/** One of this name that is there was made by an earlier attempt: its name follows from what it approves. */
export async function createOperation(
  operations: Pick<OperationStore, "create" | "list">,
  cluster: { readonly name: string } | undefined,
  { operation, approve, restore }: Extract<Action, { kind: "CreateOperation" }>,
): Promise<void> {
  if (!cluster) throw new Conflict("the cluster no longer exists");
  const task = restore ? { restore: { ...restore, approve } } : { recoverQuorum: { approve } };
  if (await operations.create(operation, { cluster: cluster.name, ...task })) return;
  const listed = await operations.list();
  const found = listed.operations.find(({ metadata }) => metadata.name === operation);
  const approved = found?.spec.recoverQuorum ?? found?.spec.restore;
  if (!found || approved?.approve !== approve || FINAL.has(found.status?.phase))
    throw new Conflict(`operation ${operation} exists, and has ended or approves something else: delete it`);
}
