/**
 * Carries out what is decided for snapshots, beside the steps: what fails here must not keep a cluster from being healed.
 * An effect that fails is tried again with growing waits, and its snapshot reports why.
 */
import { decideSnapshots } from "../core/snapshots/decide.ts";
import type { SnapshotWorld } from "../core/snapshots/world.ts";
import { effectKey, type SnapshotEffect } from "../core/snapshots/effect.ts";
import type { SnapshotState } from "../core/snapshots/facts.ts";
import { doubledMs, type Backoff } from "../seams/backoff.ts";
import type { Clock } from "../seams/clock.ts";
import { errorCode } from "./error-code.ts";
import { Conflict } from "./platform.ts";

interface Failed {
  readonly count: number;
  readonly message: string;
  readonly code: string;
  /** By the monotonic clock: not before. */
  readonly until: number;
}

export interface Kept {
  /** Something was done: look again at once. */
  readonly changed: boolean;
  readonly lookAgainAt?: number;
  /** What failed for the first time, or by something else than before. */
  readonly failures: readonly unknown[];
}

/** Of a cluster that none was ever asked for. */
export const NO_SNAPSHOTS: SnapshotState = { snapshots: [] };

const CREATE_POINT: SnapshotEffect["kind"] = "CreatePoint";
const AGAIN_MS = 1_000;
const BACKOFF: Backoff = { firstMs: AGAIN_MS, longestMs: 300_000 };

export class SnapshotKeeper {
  readonly #execute: (effect: SnapshotEffect) => Promise<void>;
  readonly #clock: Clock;
  readonly #failed = new Map<string, Failed>();

  constructor(execute: (effect: SnapshotEffect) => Promise<void>, clock: Clock) {
    this.#execute = execute;
    this.#clock = clock;
  }

  async keep(world: SnapshotWorld, beforeEffect?: () => void): Promise<Kept> {
    const { effects, lookAgainAt } = decideSnapshots(this.withFailures(world));
    const wanted = new Set(effects.map(effectKey));
    const failures: unknown[] = [];
    const waits: number[] = lookAgainAt === undefined ? [] : [lookAgainAt];
    let changed = false;
    for (const effect of effects) {
      const key = effectKey(effect);
      const waitMs = (this.#failed.get(key)?.until ?? 0) - this.#clock.monotonic();
      if (waitMs > 0) {
        waits.push(world.now + waitMs);
        continue;
      }
      beforeEffect?.();
      try {
        await this.#execute(effect);
        this.#failed.delete(key);
        changed = true;
      } catch (error) {
        // Changed or deleted meanwhile: the next pass sees it as it is.
        if (!(error instanceof Conflict) && this.#fail(key, error)) failures.push(error);
        waits.push(world.now + AGAIN_MS);
      }
    }
    this.#forget(world, wanted);
    return { changed, failures, ...(waits.length > 0 && { lookAgainAt: Math.min(...waits) }) };
  }

  /** Of a cluster that may have none: then what the first one of a point in time could not be made for is all there is. */
  stateWithFailures(state: SnapshotState | undefined): SnapshotState | undefined {
    if (!state && !this.#pointFailures()) return undefined;
    return this.withFailures(state ?? NO_SNAPSHOTS);
  }

  /** By the UIDs of those that they are for. */
  #pointFailures(): Record<string, string> | undefined {
    const found = [...this.#failed].flatMap(([key, { message }]) => {
      const [owner = "", kind] = key.split(" ");
      return kind === CREATE_POINT ? [[owner, message] as const] : [];
    });
    return found.length === 0 ? undefined : Object.fromEntries(found);
  }

  /** With what the last effects for them failed with, so that others can report it. */
  withFailures<T extends SnapshotState>(state: T): T {
    if (this.#failed.size === 0) return state;
    const { snapshots, schedules = [] } = state;
    const pointFailures = this.#pointFailures();
    return {
      ...state,
      ...(pointFailures && { pointFailures }),
      snapshots: snapshots.map((one) => this.#withFailure(one, "StartJob")),
      schedules: schedules.map((one) => {
        const followerFailure = this.#failureOf(one, "StartFollower");
        return {
          ...this.#withFailure(one, "CreateSnapshot"),
          ...(followerFailure !== undefined && { followerFailure }),
        };
      }),
    };
  }

  #withFailure<T extends { readonly uid: string }>(subject: T, kind: SnapshotEffect["kind"]): T {
    const failure = this.#failureOf(subject, kind);
    return failure === undefined ? subject : { ...subject, failure };
  }

  #failureOf({ uid }: { readonly uid: string }, kind: SnapshotEffect["kind"]): string | undefined {
    return [...this.#failed].find(([key]) => key.startsWith(`${uid} ${kind} `))?.[1].message;
  }

  /** True for news. */
  #fail(key: string, error: unknown): boolean {
    const before = this.#failed.get(key);
    const count = (before?.count ?? 0) + 1;
    const message = error instanceof Error ? error.message : String(error);
    const until = this.#clock.monotonic() + doubledMs(count, BACKOFF);
    const code = errorCode(error);
    this.#failed.set(key, { count, message, code, until });
    return before?.code !== code;
  }

  /** Of snapshots that are gone, and of effects that are not wanted any more but for a Job, which is told of in between. */
  #forget({ snapshots, schedules = [] }: SnapshotWorld, wanted: ReadonlySet<string>): void {
    for (const key of this.#failed.keys()) {
      const subject = [...snapshots, ...schedules].find(({ uid }) => key.startsWith(`${uid} `));
      const isJobs = subject !== undefined && key.startsWith(`${subject.uid} StartJob`);
      if (!isJobs && !wanted.has(key)) this.#failed.delete(key);
    }
  }
}
