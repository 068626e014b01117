/**
 * Snapshots for restores in place on one machine: fetched and checked into a directory of their plan. The result is a file
 * beside the snapshot, so that the next controller finds it and fetches nothing twice. It names its operation: a later one
 * may have the same plan, when the object in the store is another one by then.
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

/** As it is kept beside the snapshot. */
export interface FetchedFile extends Pick<FetchedSnapshot, "sha256" | "revision" | "size"> {
  readonly path: string;
}

/** From a store, or in a model; rejects where the snapshot cannot be restored. */
export type Fetcher = (request: FetchRequest) => Promise<FetchedFile>;

const RESULT = "fetched.json";

interface Result extends FetchedFile {
  /** The UID of the operation that it was fetched for. */
  readonly operation: string;
}

export class FetchedSnapshots {
  readonly #layout: Layout;
  readonly #disk: Disk;
  readonly #fetcher: Fetcher;

  constructor(layout: Layout, disk: Disk, fetcher: Fetcher) {
    this.#layout = layout;
    this.#disk = disk;
    this.#fetcher = fetcher;
  }

  async fetch(action: Extract<Action, { kind: "FetchSnapshot" }>): Promise<void> {
    const { plan, restore, version, operation } = action;
    const directory = this.#layout.recovery(plan);
    await this.#disk.makeDirectory(directory);
    const fetched = await this.#fetcher({ restore, version, directory });
    const result: Result = { ...fetched, operation };
    await this.#disk.write(path.join(directory, RESULT), `${JSON.stringify(result)}\n`, { private: true });
  }

  /** For an operation that is not finished; the schema makes its plan a safe name of a directory. */
  async found(operations: readonly OperationFacts[]): Promise<FetchedSnapshot | undefined> {
    for (const operation of operations) {
      const { task } = operation;
      if (task.kind !== "restore" || isFinished(operation) || !/^[0-9a-f]{16}$/.test(task.approve ?? ""))
        continue;
      const plan = task.approve ?? "";
      const text = await this.#disk.read(path.join(this.#layout.recovery(plan), RESULT));
      if (text === undefined) continue;
      const { operation: uid, path: file, ...fetched } = JSON.parse(text) as Result;
      if (uid === operation.uid && (await this.#disk.stat(file))?.kind === "file")
        return { plan, source: { file: { path: file } }, ...fetched };
    }
    return undefined;
  }
}
