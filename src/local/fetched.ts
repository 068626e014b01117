/**
 * Snapshots for restores in place on one machine: fetched and checked into a directory of their plan, in the background of
 * a loop that heals meanwhile. The result is a file beside the snapshot, so that the next controller finds it and fetches
 * nothing twice. It names its operation: a later one may have the same plan, when the object is another one by then.
 */
import path from "node:path";
import { PASSING_FAULTS, type RestoreFault, type RestoreRecipe } from "../api/bootstrap.ts";
import type { Action } from "../core/action.ts";
import type { FetchedSnapshot, FetchFacts, OperationFacts, PlatformFacts } from "../core/observation.ts";
import { isFinished } from "../core/operations/status.ts";
import type { Disk } from "../seams/disk.ts";
import type { Layout } from "./layout.ts";

export interface FetchRequest {
  readonly restore: RestoreRecipe;
  /** Of the etcd that will run on it. */
  readonly version: string;
  /** Where the snapshot goes. */
  readonly directory: string;
  /** Of a point in time that was built here and encrypted; otherwise the environment has the key. */
  readonly keyFile?: string;
}

/** As it is kept beside the snapshot. */
export interface FetchedFile extends Pick<FetchedSnapshot, "sha256" | "revision" | "size"> {
  readonly path: string;
}

/** From a store, or in a model; rejects where the snapshot cannot be restored, with an error that has a `fault`. */
export type Fetcher = (
  request: FetchRequest,
  tell: (text: string) => void,
  signal: AbortSignal,
) => Promise<FetchedFile>;

const RESULT = "fetched.json";

interface Result extends FetchedFile {
  /** The UID of the operation that it was fetched for. */
  readonly operation: string;
}

interface Attempt {
  /** The UID of its operation. */
  readonly operation: string;
  readonly abort: AbortController;
  readonly ended: Promise<void>;
  facts: FetchFacts;
}

type FetchSnapshot = Extract<Action, { kind: "FetchSnapshot" }>;

export class FetchedSnapshots {
  readonly #layout: Layout;
  readonly #disk: Disk;
  readonly #fetcher: Fetcher;
  readonly #onEvent: () => void;
  /** The last one, until it has succeeded. Lost with the controller, it begins again. */
  #attempt: Attempt | undefined;

  constructor(layout: Layout, disk: Disk, fetcher: Fetcher, onEvent: () => void) {
    this.#layout = layout;
    this.#disk = disk;
    this.#fetcher = fetcher;
    this.#onEvent = onEvent;
  }

  /** Answers at once; how far it is, and how it ended, is told by the facts. */
  async begin(action: FetchSnapshot): Promise<void> {
    const { plan, attempt, operation } = action;
    await this.close();
    const abort = new AbortController();
    const { signal } = abort;
    const about = { plan, attempt };
    const become = (facts: FetchFacts) => {
      begun.facts = facts;
      if (!signal.aborted) this.#onEvent();
    };
    const tell = (why: string) => {
      const { state, why: before } = begun.facts;
      if (state === "running" && why !== before) become({ ...about, state, why });
    };
    const ended = Promise.resolve()
      .then(() => this.#fetch(action, tell, signal))
      .then(
        () => {
          if (this.#attempt === begun) this.#attempt = undefined;
          if (!signal.aborted) this.#onEvent();
        },
        (error: unknown) => become({ ...about, ...failed(error) }),
      );
    const begun: Attempt = {
      operation,
      abort,
      ended,
      facts: { ...about, state: "running", why: "starting" },
    };
    this.#attempt = begun;
  }

  async #fetch(
    { plan, restore, version, operation }: FetchSnapshot,
    tell: (text: string) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const directory = this.#layout.recovery(plan);
    await this.#disk.makeDirectory(directory);
    // Nothing else that is restored here names a Secret.
    const { encryption } = restore;
    const keyFile = encryption && this.#layout.encryptionKey(encryption.keySecret);
    const request = { restore, version, directory, ...(keyFile !== undefined && { keyFile }) };
    const fetched = await this.#fetcher(request, tell, signal);
    signal.throwIfAborted();
    const result: Result = { ...fetched, operation };
    await this.#disk.write(path.join(directory, RESULT), `${JSON.stringify(result)}\n`, { private: true });
  }

  async facts(operations: readonly OperationFacts[]): Promise<Pick<PlatformFacts, "fetched" | "fetch">> {
    const attempt = this.#attempt;
    const isWanted = operations.some(
      (operation) => operation.uid === attempt?.operation && !isFinished(operation) && !operation.deleting,
    );
    if (attempt && !isWanted) {
      attempt.abort.abort();
      this.#attempt = undefined;
    }
    const fetched = await this.found(operations);
    return { ...(fetched && { fetched }), ...(attempt && isWanted && { fetch: attempt.facts }) };
  }

  /** Ends it and waits until nothing is written any more. */
  async close(): Promise<void> {
    const attempt = this.#attempt;
    attempt?.abort.abort();
    await attempt?.ended;
    this.#attempt = undefined;
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

function failed(error: unknown): Pick<FetchFacts, "state" | "why" | "definite"> {
  const { fault = "failed" } = error as { fault?: RestoreFault };
  const why = error instanceof Error ? error.message : String(error);
  return { state: "failed", why, ...(!PASSING_FAULTS.has(fault) && { definite: true }) };
}
