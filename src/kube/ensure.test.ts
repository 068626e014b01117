import assert from "node:assert/strict";
import { test } from "node:test";
import { covers } from "./ensure.ts";
import { asApplied } from "./ownership.ts";

test("what is wanted is covered when it is so, whatever else there is", () => {
  const have = { a: 1, b: { c: [{ d: 1, added: true }], e: "x" }, status: {} };
  assert.equal(covers(have, { b: { c: [{ d: 1 }] } }), true);
  assert.equal(covers(have, { b: { c: [{ d: 1 }], missing: undefined } }), true);
  assert.equal(covers(have, { b: { c: [{ d: 2 }] } }), false);
  assert.equal(covers(have, { b: { c: [{ d: 1 }, { d: 2 }] } }), false);
  assert.equal(covers(have, { b: { c: { d: 1 } } }), false);
  assert.equal(covers(have, { z: {} }), false);
});

test("fields that we set by POST become ours by apply, and those of others stay theirs", () => {
  const entries = [
    { manager: "us", operation: "Update", fieldsV1: { "f:data": { "f:a": {}, "f:b": {} } } },
    { manager: "them", operation: "Update", fieldsV1: { "f:data": { "f:c": {} } } },
    { manager: "us", operation: "Update", subresource: "status", fieldsV1: { "f:status": {} } },
    { manager: "us", operation: "Apply", apiVersion: "v1", fieldsV1: { "f:data": { "f:b": {}, "f:d": {} } } },
  ];
  const [theirs, status, ours, ...none] = asApplied(entries, "us") ?? [];
  assert.deepEqual([theirs, status], [entries[1], entries[2]]);
  const fieldsV1 = { "f:data": { "f:a": {}, "f:b": {}, "f:d": {} } };
  assert.deepEqual(ours, { manager: "us", operation: "Apply", apiVersion: "v1", fieldsV1 });
  assert.deepEqual(none, []);
  assert.equal(asApplied(entries.slice(1), "us"), undefined);
});
