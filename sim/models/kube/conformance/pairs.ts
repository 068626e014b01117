/**
 * What two servers may choose differently: versions, UIDs, generated names, addresses. The first time two such values
 * are met in the same place they become a pair, and from then on each stands for the other and for nothing else.
 */

export type Category = "version" | "uid" | "name" | "address";

export interface Pair {
  readonly real: string;
  readonly model: string;
}

export type Side = keyof Pair;

export class Pairs {
  readonly #byReal = new Map<string, string>();
  readonly #byModel = new Map<string, string>();
  readonly #all = new Map<Category, Pair[]>();

  /** True when the two have always stood for each other. */
  pair(category: Category, real: unknown, model: unknown): boolean {
    const [r, m] = [`${category} ${String(real)}`, `${category} ${String(model)}`];
    const [known, back] = [this.#byReal.get(r), this.#byModel.get(m)];
    if (known === undefined && back === undefined) {
      this.#byReal.set(r, m);
      this.#byModel.set(m, r);
      const all = this.#all.get(category) ?? [];
      all.push({ real: String(real), model: String(model) });
      this.#all.set(category, all);
      return true;
    }
    return known === m && back === r;
  }

  /** What a value of the real server is in the model. */
  modelOf(category: Category, real: string): string {
    return this.#byReal.get(`${category} ${real}`)?.slice(category.length + 1) ?? real;
  }

  /** What the two stood for until now. */
  explain(category: Category, real: unknown, model: unknown): string {
    const [known, back] = [
      this.#byReal.get(`${category} ${String(real)}`),
      this.#byModel.get(`${category} ${String(model)}`),
    ];
    return `the first is ${known ?? "new"}, the second ${back ?? "new"}`;
  }

  of(category: Category): readonly Pair[] {
    return this.#all.get(category) ?? [];
  }
}
