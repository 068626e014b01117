/**
 * Snapshots for restores in place on one machine: fetched and checked into a directory of their plan. The result is a file
 * beside the snapshot, so that the next controller finds it and fetches nothing twice.
 */
import path from "node:path";
import type { RestoreRecipe } from "../api/bootstrap.ts";
import type { Action } from "../core/action.ts";
import type { FetchedSnapshot, OperationFacts } from "../core/observation.ts";
import { isFinished } from "../core/operations/status.ts";
import type { Disk } from "../seams/disk.ts";
import type { Layout } from "./layout.ts";

export interface FetchRequest {
  readonly restore: RestoreRecipe;
  /** Of the etcd that will run on it. */
  readonly version: string;
  /** Where the snapshot goes. */
  readonly directory: string;
}

/** From a store, or in a model; rejects where the snapshot cannot be restored. */
export type Fetcher = (request: FetchRequest) => Promise<Omit<FetchedSnapshot, "plan">>;

const RESULT = "fetched.json";

export class FetchedSnapshots {
  readonly #layout: Layout;
  readonly #disk: Disk;
  readonly #fetcher: Fetcher;

  constructor(layout: Layout, disk: Disk, fetcher: Fetcher) {
    this.#layout = layout;
    this.#disk = disk;
    this.#fetcher = fetcher;
  }

  async fetch({ plan, restore, version }: Extract<Action, { kind: "FetchSnapshot" }>): Promise<void> {
    const directory = this.#layout.recovery(plan);
    await this.#disk.makeDirectory(directory);
    const fetched = await this.#fetcher({ restore, version, directory });
    await this.#disk.write(path.join(directory, RESULT), `${JSON.stringify(fetched)}\n`, { private: true });
  }

  /** For an operation that is not finished; the schema makes its plan a safe name of a directory. */
  async found(operations: readonly OperationFacts[]): Promise<FetchedSnapshot | undefined> {
    for (const operation of operations) {
      const { task } = operation;
      if (task.kind !== "restore" || isFinished(operation) || !/^[0-9a-f]{16}$/.test(task.approve ?? ""))
        continue;
      const plan = task.approve ?? "";
      const text = await this.#disk.read(path.join(this.#layout.recovery(plan), RESULT));
      if (text !== undefined) return { plan, ...(JSON.parse(text) as Omit<FetchedSnapshot, "plan">) };
    }
    return undefined;
  }
}
