/**
 * What the models of controllers and kubelets are built on: work by key that is done a little after something
 * changed, and writes to the API server from within.
 */
import type { SeededRandom } from "../../engine/random.ts";
import type { Scheduler } from "../../engine/scheduler.ts";
import { deleteObject, type DeleteOptions } from "./delete.ts";
import type { Kind } from "./kind.ts";
import type { Json, KubeJson } from "./object.ts";
import type { ModelServer } from "./server.ts";
import type { Lag } from "./subscription.ts";
import { create, update } from "./write.ts";

export interface Surround {
  readonly server: ModelServer;
  readonly scheduler: Scheduler;
  readonly random: SeededRandom;
  /** How long a controller takes to see a change and to act on it. */
  readonly lagMs?: Lag;
}

const LAG: Lag = [5, 50];

/** Runs `work` for a key some time after it was woken; wakes in between are one. */
export class Later {
  readonly #around: Surround;
  readonly #work: (key: string) => void;
  readonly #waiting = new Set<string>();

  constructor(around: Surround, work: (key: string) => void) {
    this.#around = around;
    this.#work = work;
  }

  wake(key: string, afterMs = 0): void {
    if (this.#waiting.has(key) && afterMs === 0) return;
    const { scheduler, random, lagMs = LAG } = this.#around;
    if (afterMs === 0) this.#waiting.add(key);
    scheduler.after(afterMs + random.between(lagMs[0], lagMs[1]), () => {
      if (afterMs === 0) this.#waiting.delete(key);
      this.#work(key);
    });
  }
}

/** A component of the control plane as a client of the API server that is never far away. */
export class Hand {
  readonly #server: ModelServer;
  readonly #manager: string;

  constructor(server: ModelServer, manager: string) {
    this.#server = server;
    this.#manager = manager;
  }

  create(kind: Kind, object: Json): void {
    create(this.#server, kind, object, { manager: this.#manager, subresource: "" });
  }

  /** Changes an object by a function of what it is; nothing when it is gone or the function has no wish. */
  change(
    kind: Kind,
    key: string,
    next: (object: KubeJson) => Json | undefined,
    subresource: "" | "status" = "",
  ): void {
    const old = this.#server.storage.get(kind, key);
    const wanted = old && next(old.object);
    if (!old || !wanted) return;
    update(this.#server, kind, old, wanted, { manager: this.#manager, subresource });
  }

  changeStatus(kind: Kind, key: string, next: (object: KubeJson) => Json | undefined): void {
    this.change(
      kind,
      key,
      (object) => {
        const status = next(object);
        return status && { ...object, status };
      },
      "status",
    );
  }

  delete(kind: Kind, key: string, options: Partial<DeleteOptions> = {}): void {
    const old = this.#server.storage.get(kind, key);
    if (!old) return;
    const { uid } = old.object.metadata;
    if (options.uid !== undefined && options.uid !== uid) return;
    deleteObject(this.#server, kind, old, {
      uid,
      resourceVersion: undefined,
      gracePeriodSeconds: undefined,
      propagation: undefined,
      ...options,
    });
  }
}
