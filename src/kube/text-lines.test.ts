import assert from "node:assert/strict";
import { test } from "node:test";
import { TextLines } from "./text-lines.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

test("lines are whole, wherever the bytes were cut, also within a letter", () => {
  const all = bytes("first\nzwölf\nlast");
  for (let cut = 0; cut <= all.length; cut++) {
    const lines = new TextLines();
    const got = [...lines.push(all.subarray(0, cut)), ...lines.push(all.subarray(cut)), ...lines.end()];
    assert.deepEqual(got, ["first", "zwölf", "last"]);
  }
});

test("a line without an end does not fill the memory", () => {
  const lines = new TextLines();
  assert.deepEqual(lines.push(bytes("x".repeat(1024 * 1024))), []);
  assert.equal(lines.push(bytes("xx"))[0]?.length, 1024 * 1024 + 2);
  assert.deepEqual(lines.end(), []);
});
