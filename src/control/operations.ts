/**
 * Reports why operations wait, and collects reports, after each pass. It is done beside the steps: a status that cannot
 * be written must not keep a cluster from being healed.
 */
import type { EtcdClusterStatus } from "../api/etcd-cluster-status.ts";
import type { Decision } from "../core/action.ts";
import { reportOperations } from "../core/operations/report.ts";
import type { View } from "../core/view.ts";
import type { Clock } from "../seams/clock.ts";
import { Conflict, type Platform } from "./platform.ts";

/** Words that differ only in how far something is are written this often at most, and so is what could not be. */
const WORDS_MS = 10_000;

export class OperationReporter {
  readonly #platform: Platform;
  readonly #clock: Clock;
  /** When each operation was last given a status, by the monotonic clock. */
  readonly #reportedAt = new Map<string, number>();
  readonly #failedAt = new Map<string, number>();

  constructor(platform: Platform, clock: Clock) {
    this.#platform = platform;
    this.#clock = clock;
  }

  /** What could not be written; it is tried again after the next pass. */
  async report(
    view: View,
    decision: Decision,
    status: EtcdClusterStatus,
    beforeEffect?: () => void,
  ): Promise<unknown[]> {
    const { operations } = view.observation;
    for (const times of [this.#reportedAt, this.#failedAt])
      for (const name of times.keys())
        if (!operations.some((operation) => operation.name === name)) times.delete(name);
    const failures: unknown[] = [];
    for (const { write, wordsOnly } of reportOperations(view, decision, status)) {
      const now = this.#clock.monotonic();
      const reportedAt = this.#reportedAt.get(write.operation);
      const failedAt = this.#failedAt.get(write.operation);
      if (wordsOnly && reportedAt !== undefined && now - reportedAt < WORDS_MS) continue;
      if (failedAt !== undefined && now - failedAt < WORDS_MS) continue;
      beforeEffect?.();
      try {
        await this.#platform.execute(write);
        this.#reportedAt.set(write.operation, now);
        this.#failedAt.delete(write.operation);
      } catch (error) {
        // Changed or deleted meanwhile: the next pass sees it as it is.
        if (error instanceof Conflict) continue;
        this.#failedAt.set(write.operation, now);
        failures.push(error);
      }
    }
    return failures;
  }
}
