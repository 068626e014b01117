import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { canonical, sameContent } from "./hash.ts";

const reversed = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(reversed);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([key, field]) => [key, reversed(field)]),
  );
};

test("the same content has the same text in any order of keys, and it is JSON of that content", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      assert.equal(canonical(reversed(value)), canonical(value));
      assert.deepEqual(JSON.parse(canonical(value)), JSON.parse(JSON.stringify(value)));
    }),
  );
});

test("two values are the same exactly when their texts are", () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
      assert.equal(sameContent(a, reversed(a)), true);
      assert.equal(sameContent(a, b), canonical(a) === canonical(b));
    }),
  );
  assert.equal(sameContent({ a: 1, b: undefined }, { a: 1 }), true);
  assert.equal(sameContent({ a: 1 }, { a: 1, b: undefined }), true);
  assert.equal(sameContent([], {}), false);
});
