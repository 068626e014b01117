/**
 * Looks for an order of the operations on one key that agrees with real time and with a register: the
 * algorithm of Wing and Gong with Lowe's memory of states already tried. Exponential at worst, therefore
 * bounded; not finding the end of it in time is not a pass.
 */

/** One operation as a register sees it. */
export interface Step {
  readonly id: number;
  readonly call: number;
  /** Infinity: the outcome is unknown, it may take effect at any time or never. */
  readonly end: number;
  readonly act:
    | { readonly kind: "read"; readonly value: string | undefined }
    | { readonly kind: "write"; readonly value: string | undefined }
    /** `done: undefined`: unknown; it takes effect if it can. */
    | {
        readonly kind: "swap";
        readonly from: string | undefined;
        readonly to: string;
        readonly done?: boolean;
      }
    | { readonly kind: "delete"; readonly found?: boolean };
  /** Where it stands in the order of revisions; steps of higher ones come later. */
  readonly revision?: number;
}

export interface SearchLimits {
  readonly timeMs: number;
  readonly states: number;
}

export type Found =
  | { readonly kind: "order"; readonly ids: readonly number[] }
  /** The longest order that could be begun, and who could not come next. */
  | { readonly kind: "none"; readonly prefix: readonly number[]; readonly stuck: number }
  | { readonly kind: "undecided"; readonly why: string };

export const LIMITS: SearchLimits = { timeMs: 10_000, states: 2_000_000 };

/** The value, or why the step cannot come now. */
const IMPOSSIBLE = Symbol("impossible");
type After = string | undefined | typeof IMPOSSIBLE;

export function apply(act: Step["act"], value: string | undefined): After {
  switch (act.kind) {
    case "read":
      return value === act.value ? value : IMPOSSIBLE;
    case "write":
      return act.value;
    case "swap": {
      const holds = value === act.from;
      if (act.done === undefined) return holds ? act.to : value;
      if (act.done !== holds) return IMPOSSIBLE;
      return holds ? act.to : value;
    }
    case "delete":
      if (act.found !== undefined && act.found !== (value !== undefined)) return IMPOSSIBLE;
      return undefined;
  }
}

export function isImpossible(after: After): after is typeof IMPOSSIBLE {
  return after === IMPOSSIBLE;
}

/** An event on the list of calls and returns; the list loses those whose step has its place. */
interface Entry {
  readonly index: number;
  readonly step: Step;
  readonly isCall: boolean;
  readonly time: number;
  previous: Entry | undefined;
  next: Entry | undefined;
  /** Of a call whose outcome is known. */
  back: Entry | undefined;
}

interface Choice {
  readonly entry: Entry;
  readonly value: string | undefined;
  readonly revision: number;
}

export function search(steps: readonly Step[], limits: SearchLimits = LIMITS): Found {
  const ordered = steps.toSorted((a, b) => a.call - b.call);
  const head = listOf(ordered);
  const placed = new Placed(ordered);
  const tried = new Set<string>();
  const stack: Choice[] = [];
  const began = performance.now();
  let [value, revision]: [string | undefined, number] = [undefined, 0];
  let best: { prefix: readonly number[]; stuck: number } | undefined;
  let entry = head.next;
  for (let turns = 0; placed.open > 0; turns++) {
    if (turns % 4096 === 4095 && performance.now() - began > limits.timeMs)
      return { kind: "undecided", why: `no end within ${limits.timeMs} ms` };
    if (tried.size > limits.states) return { kind: "undecided", why: `more than ${limits.states} states` };
    if (entry === undefined) throw new TypeError("a call without its return");
    if (entry.isCall) {
      const { step } = entry;
      const after: After = (step.revision ?? revision) >= revision ? apply(step.act, value) : IMPOSSIBLE;
      if (!isImpossible(after)) {
        placed.add(entry.index);
        const state = placed.key(after);
        if (!tried.has(state)) {
          tried.add(state);
          stack.push({ entry, value, revision });
          [value, revision] = [after, step.revision ?? revision];
          lift(entry);
          entry = head.next;
          continue;
        }
        placed.remove(entry.index);
      }
      entry = entry.next;
      continue;
    }
    // It returned, and has no place: the order so far leads nowhere.
    if (best === undefined || stack.length > best.prefix.length)
      best = { prefix: stack.map((choice) => choice.entry.step.id), stuck: entry.step.id };
    const last = stack.pop();
    if (last === undefined) return { kind: "none", ...best };
    ({ value, revision } = last);
    placed.remove(last.entry.index);
    unlift(last.entry);
    entry = last.entry.next;
  }
  return { kind: "order", ids: stack.map((choice) => choice.entry.step.id) };
}

/** Which steps have their place, and the state as a text: almost all before a point, few after it. */
class Placed {
  readonly #flags: Uint8Array;
  readonly #optional: readonly boolean[];
  readonly #optionals = new Set<number>();
  #low = 0;
  #high = -1;
  /** Steps that must have a place and have none. */
  open: number;

  constructor(steps: readonly Step[]) {
    this.#flags = new Uint8Array(steps.length);
    this.#optional = steps.map(({ end }) => end === Number.POSITIVE_INFINITY);
    this.open = this.#optional.filter((optional) => !optional).length;
  }

  add(index: number): void {
    this.#flags[index] = 1;
    if (this.#optional[index] === true) this.#optionals.add(index);
    else this.open--;
    this.#high = Math.max(this.#high, index);
    while (this.#low < this.#flags.length && (this.#flags[this.#low] === 1 || this.#optional[this.#low]))
      this.#low++;
  }

  remove(index: number): void {
    this.#flags[index] = 0;
    if (this.#optional[index] === true) this.#optionals.delete(index);
    else this.open++;
    this.#low = Math.min(this.#low, index);
    while (this.#high >= 0 && this.#flags[this.#high] === 0) this.#high--;
  }

  key(value: string | undefined): string {
    let beyond = "";
    for (let i = this.#low; i <= this.#high; i++)
      if (this.#flags[i] === 1 && this.#optional[i] !== true) beyond += `${i},`;
    const extra = this.#optionals.size === 0 ? "" : [...this.#optionals].toSorted((a, b) => a - b).join();
    return `${this.#low};${beyond};${extra};${value ?? ""}`;
  }
}

/** Calls and returns in the order of time; at one moment calls first, which makes them concurrent. */
function listOf(steps: readonly Step[]): Entry {
  const entries: Entry[] = [];
  for (const [index, step] of steps.entries()) {
    const common = { index, step, previous: undefined, next: undefined };
    const back: Entry = { ...common, isCall: false, time: step.end, back: undefined };
    const known = step.end !== Number.POSITIVE_INFINITY;
    entries.push({ ...common, isCall: true, time: step.call, back: known ? back : undefined });
    if (known) entries.push(back);
  }
  entries.sort((a, b) => a.time - b.time || Number(b.isCall) - Number(a.isCall));
  const head: Entry = {
    index: -1,
    step: { id: -1, call: 0, end: 0, act: { kind: "read", value: undefined } },
    isCall: true,
    time: 0,
    previous: undefined,
    next: undefined,
    back: undefined,
  };
  let last = head;
  for (const entry of entries) {
    last.next = entry;
    entry.previous = last;
    last = entry;
  }
  return head;
}

function lift(call: Entry): void {
  for (const entry of [call, call.back]) {
    if (entry === undefined) continue;
    if (entry.previous) entry.previous.next = entry.next;
    if (entry.next) entry.next.previous = entry.previous;
  }
}

function unlift(call: Entry): void {
  for (const entry of [call.back, call]) {
    if (entry === undefined) continue;
    if (entry.previous) entry.previous.next = entry;
    if (entry.next) entry.next.previous = entry;
  }
}
