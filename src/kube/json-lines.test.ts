import assert from "node:assert/strict";
import { test } from "node:test";
import { JsonLines } from "./json-lines.ts";

test("objects come out whole, wherever the stream was cut, also within a letter", () => {
  const objects = [{ a: "ä€😀" }, {}, { b: [1, 2, { c: "\n in a text" }] }];
  const bytes = Buffer.from(`${objects.map((object) => JSON.stringify(object)).join("\n")}\n\n`);
  for (let size = 1; size < bytes.length; size++) {
    const lines = new JsonLines();
    const got: unknown[] = [];
    for (let from = 0; from < bytes.length; from += size)
      got.push(...lines.push(bytes.subarray(from, from + size)));
    assert.deepEqual(got, objects, `in pieces of ${size}`);
    assert.equal(lines.pending, false);
  }
});

test("an object that was begun and not finished is noticed, and one that is none is refused", () => {
  const lines = new JsonLines();
  assert.deepEqual([...lines.push(Buffer.from('{"a":1}\n{"b"'))], [{ a: 1 }]);
  assert.equal(lines.pending, true);
  assert.throws(() => [...lines.push(Buffer.from("oops\n"))], SyntaxError);
});
