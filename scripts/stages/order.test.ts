/** What takes longest begins first; what only one can have at a time counts as a whole. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { longestFirst, processesOf } from "./order.ts";
import type { Stage } from "./table.ts";

const STAGE: Stage = {
  id: "planted",
  title: "planted",
  fast: true,
  files: [],
  processes: "apart",
  testLimitMs: 1,
  processLimitMs: 1,
};
const filesOf = (planned: readonly { files: readonly string[] }[]) => planned.map(({ files }) => files);

test("apart, each file is a process, the longest first", () => {
  const stage = { ...STAGE, long: { c: 10, d: 20 } };
  assert.deepEqual(filesOf(processesOf(stage, ["a", "b", "c", "d"])), [["d"], ["c"], ["a"], ["b"]]);
});

test("together, they are dealt so that the shares are alike, and none is lost", () => {
  const stage: Stage = { ...STAGE, processes: "together", shares: 2, long: { a: 5, b: 4, c: 3 } };
  assert.deepEqual(filesOf(processesOf(stage, ["c", "d", "a", "b"])), [
    ["a", "d"],
    ["b", "c"],
  ]);
  assert.deepEqual(filesOf(processesOf({ ...stage, shares: 3 }, ["d"])), [["d"]]);
  assert.deepEqual(filesOf(processesOf({ ...STAGE, processes: "together" }, ["a", "b"])), [["a", "b"]]);
});

test("those that need the same thing begin as early as one that takes as long as all of them", () => {
  const nodes = { ...STAGE, needs: { what: "nodes", files: ["n*"] }, long: { n1: 10, n2: 20 } };
  const others = { ...STAGE, long: { a: 25, b: 35 } };
  const planned = [...processesOf(others, ["a", "b"]), ...processesOf(nodes, ["n1", "n2", "x"])];
  const order = longestFirst(planned);
  assert.deepEqual(filesOf(order), [["b"], ["n2"], ["n1"], ["a"], ["x"]]);
  assert.deepEqual(
    order.map(({ needs }) => needs),
    [undefined, "nodes", "nodes", undefined, undefined],
  );
});
