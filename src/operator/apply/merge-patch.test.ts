import assert from "node:assert/strict";
import { test } from "node:test";
import { mergePatch } from "./merge-patch.ts";

test("what is gone becomes null, what is the same is left out, lists are whole", () => {
  const before = { a: 1, b: { c: 2, d: 3 }, list: [1, 2], gone: "x", same: { y: [1] } };
  const after = { a: 1, b: { c: 4 }, list: [2], same: { y: [1] }, fresh: true };
  assert.deepEqual(mergePatch(before, after), { b: { c: 4, d: null }, list: [2], gone: null, fresh: true });
});

test("no difference is no patch", () => {
  assert.equal(mergePatch({ a: { b: 1 }, c: undefined }, { a: { b: 1 } }), undefined);
});
