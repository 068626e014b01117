/**
 * What cannot have happened yet: a write that had not been called at some moment. Whoever was reported a
 * revision that such a write got later was reported the future.
 */
import type { Operation } from "./history.ts";
import type { Log } from "./log.ts";

export class Horizon {
  /** By ascending call: the lowest revision of this write and all that were called later. */
  readonly #calls: readonly {
    readonly call: number;
    readonly revision: number;
    readonly operation: Operation;
  }[];

  constructor({ commits }: Log) {
    const calls = commits
      .flatMap(({ operation, revision }) =>
        operation ? [{ call: operation.call, revision, operation }] : [],
      )
      .toSorted((a, b) => a.call - b.call);
    for (let i = calls.length - 2; i >= 0; i--) {
      const [one, later] = [calls[i], calls[i + 1]];
      if (one && later && later.revision < one.revision) calls[i] = { ...later, call: one.call };
    }
    this.#calls = calls;
  }

  /** The write that was called after `time` and got a revision up to `revision`, if there is one. */
  ahead(time: number, revision: number): Operation | undefined {
    let [low, high] = [0, this.#calls.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#calls[middle]?.call ?? 0) <= time) low = middle + 1;
      else high = middle;
    }
    const first = this.#calls[low];
    return first !== undefined && first.revision <= revision ? first.operation : undefined;
  }
}
