import assert from "node:assert/strict";
import { test } from "node:test";
import { suggestions } from "./suggest.ts";

const known = ["etcd", "local", "operator", "agent"];

test("a word one or two edits away is suggested", () => {
  assert.deepEqual(suggestions("ectd", known), ["etcd"]);
  assert.deepEqual(suggestions("lokal", known), ["local"]);
});

test("the beginning of a word is suggested", () => {
  assert.deepEqual(suggestions("op", known), ["operator"]);
});

test("nothing is suggested for a word that is near none", () => {
  assert.deepEqual(suggestions("frobnicate", known), []);
  assert.deepEqual(suggestions("", known), []);
});
