/** Texts as they stand on Pods that run: what an earlier operator wrote is understood by this one, and the other way round. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { readStart, writeStart, type Start } from "./start.ts";

/** Copied from Pods; these lines do not change. */
const WRITTEN: readonly [string, Start][] = [
  ["e81f534c8d670433.289698a724cb4119", { process: "e81f534c8d670433", resources: "289698a724cb4119" }],
  [
    "e81f534c8d670433.289698a724cb4119/0c3b2a1f9d8e7f60",
    { process: "e81f534c8d670433", resources: "289698a724cb4119", peers: "0c3b2a1f9d8e7f60" },
  ],
  [
    "e81f534c8d670433.289698a724cb4119~",
    { process: "e81f534c8d670433", resources: "289698a724cb4119", resizing: true },
  ],
];

for (const [text, start] of WRITTEN)
  test(`${text} is read as it was meant, and written again the same`, () => {
    assert.deepEqual(readStart(text), start);
    assert.equal(writeStart(start), text);
  });

test("what no operator wrote is no start", () => {
  for (const text of ["", "abc", "abc/def", "a.b.c", "a.b/", "a.b/c/d", ".b", "a.", "a.b~~", "a.b~/c"])
    assert.equal(readStart(text), undefined, text);
});
