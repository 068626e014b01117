import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { formatId, parseId } from "./id.ts";

test("an ID is written as etcd writes it: lower-case hexadecimal without leading zeros", () => {
  assert.equal(formatId(0x8e9e05c52164694dn), "8e9e05c52164694d");
  assert.equal(formatId(0xan), "a");
  assert.equal(formatId(0n), "0");
});

test("an ID that was written is read back, over the whole range of 64 bits", () => {
  fc.assert(fc.property(fc.bigInt(0n, 2n ** 64n - 1n), (id) => parseId(formatId(id)) === id));
});

test("anything that is no ID is refused, with an example of one", () => {
  for (const text of ["", "0x1f", "8e9e05c52164694d0", "-1", "member", " 1"])
    assert.throws(() => parseId(text), /not a member ID: expected 1 to 16 hexadecimal digits/);
});
