/** How fast the log grows, from one observation to another: forgotten when somebody else leads. */
import type { View } from "../core/view.ts";

/** Over less than this, when a member answered matters more than what was written. */
const SHORTEST_MS = 1_000;

export class LogRate {
  #from: { readonly term: number; readonly index: number; readonly at: number } | undefined;
  #perSecond: number | undefined;

  /** Entries a second; undefined until it is known. `at` is by the monotonic clock. */
  measured({ leader }: View, at: number): number | undefined {
    if (!leader?.answer.reachable) return this.#perSecond;
    const { raftTerm: term, raftIndex: index } = leader.answer;
    if (this.#from?.term !== term || index < this.#from.index) {
      this.#from = { term, index, at };
      this.#perSecond = undefined;
    }
    const ms = at - this.#from.at;
    if (ms >= SHORTEST_MS) {
      this.#perSecond = Math.round(((index - this.#from.index) * 1_000) / ms);
      this.#from = { term, index, at };
    }
    return this.#perSecond;
  }
}
