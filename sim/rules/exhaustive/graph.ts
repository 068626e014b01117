/**
 * The states that were reached, as numbers, with the edges that need no fault: from where can the goal be reached,
 * and is there a circle of own steps. Typed arrays, since there are millions.
 */

class Numbers {
  #values = new Int32Array(1024);
  length = 0;
  push(value: number): void {
    if (this.length === this.#values.length) {
      const larger = new Int32Array(this.length * 2);
      larger.set(this.#values);
      this.#values = larger;
    }
    this.#values[this.length++] = value;
  }
  at(index: number): number {
    return this.#values[index] ?? -1;
  }
}

const KINDS = ["own", "world", "time"] as const;
/** A step of the operator's own, one of the world, or only time that passes. */
export type EdgeKind = (typeof KINDS)[number];

export class Graph {
  readonly parents = new Numbers();
  readonly labels = new Numbers();
  readonly #words: string[] = [];
  readonly #wordNumbers = new Map<string, number>();
  readonly #from = new Numbers();
  readonly #to = new Numbers();
  readonly #kinds = new Numbers();
  readonly goals = new Set<number>();

  get size(): number {
    return this.parents.length;
  }

  addState(parent: number, label: string): number {
    let word = this.#wordNumbers.get(label);
    if (word === undefined) {
      word = this.#words.push(label) - 1;
      this.#wordNumbers.set(label, word);
    }
    this.parents.push(parent);
    this.labels.push(word);
    return this.size - 1;
  }

  /** An edge that needs no fault and no edit. */
  addEdge(from: number, to: number, kind: EdgeKind): void {
    this.#from.push(from);
    this.#to.push(to);
    this.#kinds.push(KINDS.indexOf(kind));
  }

  /** How a state was first reached: breadth first, so none is shorter. */
  pathTo(state: number): string[] {
    const path: string[] = [];
    for (let at = state; at > 0; at = this.parents.at(at)) path.push(this.#words[this.labels.at(at)] ?? "");
    return path.toReversed();
  }

  /** States from which no goal can be reached although nothing fails any more, among `known`. */
  deadEnds(known: (state: number) => boolean): number[] {
    const [starts, list] = this.#adjacency(this.#to, this.#from);
    const reaches = new Uint8Array(this.size);
    const queue = [...this.goals];
    for (const goal of queue) reaches[goal] = 1;
    while (queue.length > 0) {
      const at = queue.pop() ?? 0;
      for (let i = starts[at] ?? 0; i < (starts[at + 1] ?? 0); i++) {
        const before = list[i] ?? 0;
        if (reaches[before]) continue;
        reaches[before] = 1;
        queue.push(before);
      }
    }
    const dead: number[] = [];
    for (let state = 0; state < this.size; state++) if (!reaches[state] && known(state)) dead.push(state);
    return dead;
  }

  /** A state on a circle of steps that take no time, one of them the operator's own: Tarjan's components, without recursion. */
  livelocks(): number[] {
    const component = this.#components();
    const found = new Map<number, number>();
    for (let i = 0; i < this.#from.length; i++) {
      const [from, to] = [this.#from.at(i), this.#to.at(i)];
      const inside = component[from] === component[to];
      if (inside && KINDS[this.#kinds.at(i)] === "own" && !found.has(component[from] ?? 0))
        found.set(component[from] ?? 0, from);
    }
    return [...found.values()].toSorted((a, b) => a - b);
  }

  #components(): Int32Array {
    const [starts, list] = this.#adjacency(this.#from, this.#to, "time");
    const index = new Int32Array(this.size).fill(-1);
    const low = new Int32Array(this.size);
    const component = new Int32Array(this.size).fill(-1);
    const next = new Int32Array(this.size);
    const stack: number[] = [];
    const calls: number[] = [];
    let count = 0;
    let components = 0;
    for (let root = 0; root < this.size; root++) {
      if (index[root] !== -1) continue;
      calls.push(root);
      while (calls.length > 0) {
        const at = calls.at(-1) ?? 0;
        if (index[at] === -1) {
          index[at] = low[at] = count++;
          next[at] = starts[at] ?? 0;
          stack.push(at);
        }
        let deeper = false;
        while ((next[at] ?? 0) < (starts[at + 1] ?? 0)) {
          const to = list[next[at] ?? 0] ?? 0;
          next[at] = (next[at] ?? 0) + 1;
          if (index[to] === -1) {
            calls.push(to);
            deeper = true;
            break;
          }
          if (component[to] === -1) low[at] = Math.min(low[at] ?? 0, index[to] ?? 0);
        }
        if (deeper) continue;
        calls.pop();
        const caller = calls.at(-1);
        if (caller !== undefined) low[caller] = Math.min(low[caller] ?? 0, low[at] ?? 0);
        if (low[at] !== index[at]) continue;
        for (let member = stack.pop(); member !== undefined; member = stack.pop()) {
          component[member] = components;
          if (member === at) break;
        }
        components++;
      }
    }
    return component;
  }

  #adjacency(keys: Numbers, values: Numbers, but?: EdgeKind): [starts: Int32Array, list: Int32Array] {
    const taken = (i: number) => but === undefined || KINDS[this.#kinds.at(i)] !== but;
    const starts = new Int32Array(this.size + 2);
    for (let i = 0; i < keys.length; i++)
      if (taken(i)) starts[keys.at(i) + 1] = (starts[keys.at(i) + 1] ?? 0) + 1;
    for (let i = 1; i < starts.length; i++) starts[i] = (starts[i] ?? 0) + (starts[i - 1] ?? 0);
    const fill = starts.slice();
    const list = new Int32Array(keys.length);
    for (let i = 0; i < keys.length; i++) {
      if (!taken(i)) continue;
      const key = keys.at(i);
      const place = fill[key] ?? 0;
      fill[key] = place + 1;
      list[place] = values.at(i);
    }
    return [starts, list];
  }
}
