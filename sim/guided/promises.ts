/**
 * Which of several schedules promises most for its length: one that does what was seldom done after what it follows,
 * and what brought something new when it was done.
 */

/** What a run costs beside its moves: the creation, and the rest at its end. */
const BASE = 3;

export class Promises {
  readonly #pairs = new Map<string, number>();
  readonly #done = new Map<string, number>();
  readonly #brought = new Map<string, number>();

  best<S>(candidates: readonly S[], causesOf: (schedule: S) => readonly string[]): S {
    const scores = candidates.map((candidate) => this.#score(causesOf(candidate)));
    const best = candidates[scores.indexOf(Math.max(...scores))];
    if (best === undefined) throw new RangeError("nothing to choose from");
    return best;
  }

  /** A schedule was played, and this was new in it. */
  learn(causes: readonly string[], fresh: readonly string[]): void {
    for (const pair of pairsOf(causes)) count(this.#pairs, pair);
    for (const cause of causes) count(this.#done, cause);
    for (const feature of fresh) {
      const [, cause] = feature.split(" under ");
      if (cause !== undefined) count(this.#brought, cause);
    }
  }

  #score(causes: readonly string[]): number {
    const pairs = pairsOf(causes);
    const gains = causes.map((cause, index) => {
      const seldom = 1 / (1 + (this.#pairs.get(pairs[index] ?? "") ?? 0));
      const yields = (1 + (this.#brought.get(cause) ?? 0)) / (1 + (this.#done.get(cause) ?? 0));
      return seldom * (0.5 + Math.min(4, yields));
    });
    return gains.reduce((sum, gain) => sum + gain, 0) / (BASE + causes.length);
  }
}

function pairsOf(causes: readonly string[]): string[] {
  return causes.map((cause, index) => `${causes[index - 1] ?? "begin"} then ${cause}`);
}

function count(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
