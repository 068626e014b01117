import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { editDistance, nearest } from "./suggest.ts";

test("the distance counts insertions, deletions, replacements and swaps", () => {
  assert.equal(editDistance("version", "version"), 0);
  assert.equal(editDistance("verison", "version"), 1);
  assert.equal(editDistance("replica", "replicas"), 1);
  assert.equal(editDistance("", "abc"), 3);
});

test("the distance is the same in both directions, and zero only for equal words", () => {
  const word = fc.string({ maxLength: 8 });
  fc.assert(
    fc.property(word, word, (a, b) => {
      assert.equal(editDistance(a, b), editDistance(b, a));
      assert.equal(editDistance(a, b) === 0, a === b);
    }),
  );
});

test("a word that resembles nothing gets no suggestion", () => {
  assert.equal(nearest("colour", ["replicas", "version"]), undefined);
  assert.equal(nearest("VERSION", ["replicas", "version"]), "version");
});
