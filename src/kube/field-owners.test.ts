import assert from "node:assert/strict";
import { test } from "node:test";
import { differencesOf, managersOf, pathText } from "./field-owners.ts";

test("the fields that differ are named one by one, and a list counts as one", () => {
  const have = { metadata: { labels: { a: "1", "x.io/b": "2" } }, spec: { ports: [1] } };
  const want = { metadata: { labels: { a: "1", "x.io/b": "3" } }, spec: { ports: [1, 2], type: undefined } };
  assert.deepEqual(differencesOf(have, want).map(pathText), ["metadata.labels[x.io/b]", "spec.ports"]);
  assert.deepEqual(differencesOf(undefined, { spec: { a: 1 } }).map(pathText), ["spec.a"]);
  assert.equal(pathText([]), "it");
});

test("whoever holds a field is named, and nobody who holds only its neighbours", () => {
  const fields = (label: string) => ({ "f:metadata": { "f:labels": { [`f:${label}`]: {} } } });
  const managed = [
    { manager: "quorate", fieldsV1: fields("a") },
    { manager: "kyverno", fieldsV1: fields("x.io/b") },
    { manager: "kubectl", fieldsV1: { "f:spec": {} } },
    { fieldsV1: fields("x.io/b") },
  ];
  assert.deepEqual(managersOf(managed, ["metadata", "labels", "x.io/b"]), ["kyverno"]);
  assert.deepEqual(managersOf(managed, ["metadata", "labels", "c"]), []);
  assert.deepEqual(managersOf(managed, []), []);
});
