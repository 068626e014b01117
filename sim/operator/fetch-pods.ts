/**
 * The Pod of a restore in place on the model's disks: it brings a snapshot from the store onto a volume and checks it,
 * unless a fault says otherwise. What is on a disk is gone with the disk.
 */
import type { RestoreFault } from "../../src/api/bootstrap.ts";
import { FETCH_CONTAINER } from "../../src/operator/names.ts";
import { VOLUMES } from "../../src/operator/render/volumes.ts";
import { RestoreError } from "../../src/snapshot/restore-error.ts";
import { STAGED_FILE, writeFailure, writeStaged } from "../../src/snapshot/stage.ts";
import type { Scheduler } from "../engine/scheduler.ts";
import { STORED, type Saved } from "../models/etcd/restored.ts";
import type { Ending, Running, Start } from "../models/kube/nodes/hooks.ts";

const FETCHES_MS = 2_000;

export class FetchPods {
  readonly #scheduler: Scheduler;
  /** By disk and path. */
  readonly #snapshots = new Map<string, Saved>();
  /** What befalls the next processes, in order. */
  readonly faults: (RestoreFault | "hang")[] = [];
  /** How many came to a snapshot that is whole. */
  whole = 0;

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler;
  }

  snapshotAt(disk: string, path: string): Saved | undefined {
    return this.#snapshots.get(`${disk}/${path}`);
  }

  gone(disk: string): void {
    for (const at of this.#snapshots.keys()) if (at.startsWith(`${disk}/`)) this.#snapshots.delete(at);
  }

  /** Undefined for a container of another Pod. */
  start(start: Start): Running | undefined {
    if (start.container !== FETCH_CONTAINER) return undefined;
    let isOver = false;
    const end = (how: () => Ending) => {
      if (isOver) return;
      isOver = true;
      start.ended(how());
    };
    const fault = this.faults.shift();
    if (fault !== "hang") this.#scheduler.after(FETCHES_MS, () => end(() => this.#fetched(start, fault)));
    return {
      stop: () => end(() => ({ exitCode: 143, reason: "Error" })),
      kill: () => {
        isOver = true;
      },
    };
  }

  #fetched({ disks }: Start, fault: RestoreFault | undefined): Ending {
    if (fault !== undefined) {
      const message = writeFailure(new RestoreError(fault, `the snapshot is ${fault}`));
      return { exitCode: 1, reason: "Error", message };
    }
    this.whole++;
    this.#snapshots.set(`${disks[VOLUMES.data] ?? ""}/${STAGED_FILE}`, STORED);
    const database = { revision: STORED.revision } as Parameters<typeof writeStaged>[0]["database"];
    const message = writeStaged({ size: 20_512, sha256: "0".repeat(64), database });
    return { exitCode: 0, reason: "Completed", message };
  }
}
