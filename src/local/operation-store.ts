/**
 * The EtcdOperations of a local cluster: a file each in its directory. People create and delete them, the controller
 * writes their status under the version that it read, as with an API server (H10).
 */
import type { EtcdOperation, EtcdOperationSpec, EtcdOperationStatus } from "../api/etcd-operation.ts";
import { API_VERSION } from "../api/metadata.ts";
import type { Action } from "../core/action.ts";
import { FINAL } from "../core/operations/status.ts";
import { Conflict } from "../control/platform.ts";
import type { Clock } from "../seams/clock.ts";
import { hex, type Random } from "../seams/random.ts";
import type { Layout } from "./layout.ts";
import type { StoreSeams } from "./store.ts";
import { DamagedFile, FORMAT, StoredFiles } from "./stored-files.ts";

interface StoredOperation {
  readonly format: typeof FORMAT;
  readonly uid: string;
  readonly name: string;
  readonly createdAt: number;
  readonly resourceVersion: number;
  readonly spec: EtcdOperationSpec;
  readonly status: EtcdOperationStatus;
}

export interface FoundOperations {
  readonly operations: readonly EtcdOperation[];
  /** Files that cannot be understood, in words: they stop nothing but themselves. */
  readonly damaged: readonly string[];
}

export class OperationStore {
  readonly #layout: Layout;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #files: StoredFiles;

  constructor(layout: Layout, { disk, clock, random }: StoreSeams) {
    this.#layout = layout;
    this.#clock = clock;
    this.#random = random;
    this.#files = new StoredFiles(disk);
  }

  /** By time of creation. */
  async list(): Promise<FoundOperations> {
    const damaged: string[] = [];
    const found: StoredOperation[] = [];
    for (const file of await this.#files.list(this.#layout.operations)) {
      try {
        const stored = await this.#files.read<StoredOperation>(file);
        if (stored) found.push(stored);
      } catch (error) {
        if (!(error instanceof DamagedFile)) throw error;
        damaged.push(error.message);
      }
    }
    const sorted = found.toSorted((a, b) => a.createdAt - b.createdAt || (a.name < b.name ? -1 : 1));
    return { operations: sorted.map(toOperation), damaged };
  }

  /** Undefined if one of this name exists. */
  async create(name: string, spec: EtcdOperationSpec): Promise<EtcdOperation | undefined> {
    return await this.#files.inTurn(async () => {
      const file = this.#layout.operation(name);
      if ((await this.#files.read(file)) !== undefined) return undefined;
      const stored: StoredOperation = {
        format: FORMAT,
        uid: hex(this.#random, 8),
        name,
        createdAt: this.#clock.now(),
        resourceVersion: 1,
        spec,
        status: { observedGeneration: -1 },
      };
      await this.#files.write(file, stored);
      return toOperation(stored);
    });
  }

  /** A name that none has, beginning as asked. */
  generateName(prefix: string): string {
    return `${prefix}${hex(this.#random, 3)}`;
  }

  async report(name: string, resourceVersion: string, status: EtcdOperationStatus): Promise<void> {
    await this.#files.inTurn(async () => {
      const file = this.#layout.operation(name);
      const before = await this.#files.read<StoredOperation>(file);
      if (before === undefined) throw new Conflict(`${file} no longer exists`);
      if (String(before.resourceVersion) !== resourceVersion)
        throw new Conflict(`${file} is at version ${before.resourceVersion}, not ${resourceVersion}`);
      await this.#files.write(file, { ...before, status, resourceVersion: before.resourceVersion + 1 });
    });
  }

  /** False if there is none of this name, or, with `uid`, if it is another one by now. */
  async remove(name: string, uid?: string): Promise<boolean> {
    return await this.#files.inTurn(async () => {
      const file = this.#layout.operation(name);
      const before = await this.#files.read<StoredOperation>(file);
      if (before === undefined || (uid !== undefined && before.uid !== uid)) return false;
      await this.#files.remove(file);
      return true;
    });
  }
}

function toOperation({
  name,
  uid,
  resourceVersion,
  createdAt,
  spec,
  status,
}: StoredOperation): EtcdOperation {
  return {
    apiVersion: API_VERSION,
    kind: "EtcdOperation",
    metadata: {
      name,
      namespace: "local",
      uid,
      generation: 1,
      resourceVersion: String(resourceVersion),
      creationTimestamp: new Date(createdAt).toISOString(),
    },
    spec,
    status,
  };
}

/** One of this name that is there was made by an earlier attempt: its name follows from what it approves. */
export async function createOperation(
  operations: Pick<OperationStore, "create" | "list">,
  cluster: { readonly name: string } | undefined,
  { operation, approve }: Extract<Action, { kind: "CreateOperation" }>,
): Promise<void> {
  if (!cluster) throw new Conflict("the cluster no longer exists");
  if (await operations.create(operation, { cluster: cluster.name, recoverQuorum: { approve } })) return;
  const listed = await operations.list();
  const found = listed.operations.find(({ metadata }) => metadata.name === operation);
  if (found?.spec.recoverQuorum?.approve !== approve || FINAL.has(found.status?.phase))
    throw new Conflict(`operation ${operation} exists, and has ended or approves something else: delete it`);
}
