/** The search against hand-made histories of one register, and against trying every order. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { SeededRandom } from "../../sim/engine/random.ts";
import { generate } from "./generate.ts";
import { logOf } from "./log.ts";
import { stepsOf } from "./registers.ts";
import { apply, isImpossible, search, type Step } from "./search.ts";

const forever = Number.POSITIVE_INFINITY;
let ids = 0;
const step = (call: number, end: number, act: Step["act"]): Step => ({ id: ++ids, call, end, act });
const put = (call: number, end: number, value: string) => step(call, end, { kind: "write", value });
const get = (call: number, end: number, value?: string) => step(call, end, { kind: "read", value });
const swap = (call: number, end: number, from: string | undefined, to: string, done?: boolean) =>
  step(call, end, { kind: "swap", from, to, ...(done !== undefined && { done }) });

const cases: [string, "order" | "none", Step[]][] = [
  ["nothing happened", "order", []],
  ["one after the other", "order", [put(0, 1, "a"), get(2, 3, "a"), put(4, 5, "b"), get(6, 7, "b")]],
  ["a read during the write sees it or not", "order", [put(0, 10, "a"), get(1, 2), get(3, 4, "a")]],
  ["a read during the write sees it and then not", "none", [put(0, 10, "a"), get(1, 2, "a"), get(3, 4)]],
  ["a stale read", "none", [put(0, 1, "a"), put(2, 3, "b"), get(4, 5, "a")]],
  ["a lost write", "none", [put(0, 1, "a"), get(2, 3)]],
  ["a phantom write", "none", [get(0, 1, "a"), put(2, 3, "a")]],
  [
    "two swaps from the same value both succeed",
    "none",
    [put(0, 1, "a"), swap(2, 5, "a", "b", true), swap(2, 5, "a", "c", true)],
  ],
  [
    "of two concurrent swaps one succeeds",
    "order",
    [put(0, 1, "a"), swap(2, 5, "a", "b", true), swap(2, 5, "a", "c", false), get(6, 7, "b")],
  ],
  [
    "swaps in the wrong order",
    "none",
    [put(0, 1, "a"), swap(2, 3, "b", "c", true), swap(4, 5, "a", "b", true)],
  ],
  ["an unknown write happened", "order", [put(0, 1, "a"), put(2, forever, "b"), get(3, 4, "b")]],
  ["an unknown write did not happen", "order", [put(0, 1, "a"), put(2, forever, "b"), get(3, 4, "a")]],
  [
    "an unknown write happened late",
    "order",
    [put(0, 1, "a"), put(2, forever, "b"), get(3, 4, "a"), get(50, 51, "b")],
  ],
  [
    "an unknown write happened and was undone",
    "none",
    [put(0, 1, "a"), put(2, forever, "b"), get(3, 4, "b"), get(5, 6, "a")],
  ],
  ["an unknown write before it was called", "none", [put(0, 1, "a"), get(3, 4, "b"), put(5, forever, "b")]],
  [
    "an unknown swap that cannot have happened",
    "none",
    [put(0, 1, "a"), swap(2, forever, "x", "b"), get(3, 4, "b")],
  ],
  [
    "a delete finds what was there",
    "order",
    [
      put(0, 1, "a"),
      step(2, 3, { kind: "delete", found: true }),
      step(4, 5, { kind: "delete", found: false }),
    ],
  ],
  ["a delete finds what was not there", "none", [step(2, 3, { kind: "delete", found: true })]],
];
for (const [what, expected, steps] of cases)
  test(`search: ${what}: ${expected === "order" ? "is linearizable" : "is not"}`, () => {
    const found = search(steps);
    assert.equal(found.kind, expected);
    assert.equal(everyOrder(steps), expected === "order");
    if (found.kind === "order") assertOrder(steps, found.ids);
  });

test("search: revisions forbid orders that values alone would allow", () => {
  const later = { ...put(0, 10, "a"), revision: 7 };
  const earlier = { ...put(0, 10, "b"), revision: 6 };
  assert.equal(search([later, earlier, get(11, 12, "b")]).kind, "none");
  assert.equal(search([later, earlier, get(11, 12, "a")]).kind, "order");
});

test("search: what takes too long is undecided", () => {
  // Concurrent writes that nobody read, and then a value that none of them wrote.
  const steps = Array.from({ length: 30 }, (_, i) => put(i / 100, 100, `v${i}`));
  const found = search([...steps, get(200, 201, "nobody")], { timeMs: 20, states: 100_000_000 });
  assert.equal(found.kind, "undecided");
  const bounded = search([...steps, get(200, 201, "nobody")], { timeMs: 60_000, states: 1_000 });
  assert.deepEqual(bounded, { kind: "undecided", why: "more than 1000 states" });
});

test("search: agrees with trying every order, on small histories of every kind", () => {
  const random = new SeededRandom(17);
  const seen = { order: 0, none: 0 };
  for (let i = 0; i < 3_000; i++) {
    const steps = Array.from({ length: random.between(1, 6) }, (): Step => {
      const call = random.between(0, 12);
      const unknown = random.chance(0.2);
      const end = unknown ? forever : call + random.between(1, 6);
      const value = random.chance(0.25) ? undefined : random.pick(["a", "b", "c"]);
      const kind = unknown ? random.between(2, 4) : random.between(1, 4);
      if (kind === 1) return get(call, end, value);
      if (kind === 2) return put(call, end, value ?? "d");
      if (kind === 3)
        return swap(call, end, value, random.pick(["a", "b", "c"]), unknown ? undefined : random.chance(0.5));
      return step(call, end, { kind: "delete", ...(!unknown && { found: random.chance(0.5) }) });
    });
    const found = search(steps);
    assert.equal(found.kind === "order", everyOrder(steps), JSON.stringify(steps));
    if (found.kind === "order") assertOrder(steps, found.ids);
    assert.notEqual(found.kind, "undecided");
    seen[found.kind as "order" | "none"]++;
  }
  assert.ok(seen.order > 200 && seen.none > 200, JSON.stringify(seen));
});

test("search: 10,000 operations on one key take seconds, with and without revisions", (t) => {
  const history = generate({ seed: 3, operations: 10_000, clients: 8, keys: 1, single: true });
  const log = logOf(history);
  for (const useRevisions of [true, false]) {
    const began = performance.now();
    const steps = stepsOf(history, log, "k1", useRevisions);
    const found = search(steps);
    const tookMs = performance.now() - began;
    t.diagnostic(
      `${steps.length} steps ${useRevisions ? "with" : "without"} revisions: ${Math.round(tookMs)} ms`,
    );
    assert.equal(found.kind, "order");
    assert.ok(tookMs < 5_000, String(tookMs));
  }
});

/** Every step that must be there is, real time is kept, and a register would have answered so. */
function assertOrder(steps: readonly Step[], order: readonly number[]): void {
  const byId = new Map(steps.map((one) => [one.id, one]));
  const placed = order.map((id) => byId.get(id) as Step);
  assert.equal(new Set(order).size, order.length);
  for (const one of steps) if (one.end !== forever) assert.ok(order.includes(one.id));
  let value: string | undefined;
  for (const [i, one] of placed.entries()) {
    for (const later of placed.slice(i + 1)) assert.ok(later.end >= one.call, "real time");
    const after = apply(one.act, value);
    if (isImpossible(after))
      throw new assert.AssertionError({ message: "a register would not have said so" });
    value = after;
  }
}

/** The definition itself, in factorial time. */
function everyOrder(steps: readonly Step[], value?: string): boolean {
  const must = steps.filter(({ end }) => end !== forever);
  if (must.length === 0) return true;
  return steps.some((one) => {
    if (steps.some((other) => other !== one && other.end < one.call)) return false;
    const after = apply(one.act, value);
    return (
      !isImpossible(after) &&
      everyOrder(
        steps.filter((other) => other !== one),
        after,
      )
    );
  });
}
