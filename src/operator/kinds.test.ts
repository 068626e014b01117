import assert from "node:assert/strict";
import { test } from "node:test";
import { entriesOf, NAMESPACED_KINDS, WIDE_KINDS } from "./kinds.ts";
import { CLUSTER_WIDE, NAMESPACED, verbsOf } from "./process/permissions.ts";

const namespaced = entriesOf(NAMESPACED_KINDS);
const wide = entriesOf(WIDE_KINDS);

test("every kind stands in the table of its scope, and each once", () => {
  assert.ok(namespaced.every(([, { resource }]) => resource.namespaced));
  assert.ok(wide.every(([, { resource }]) => !resource.namespaced));
  const plurals = [...namespaced, ...wide].map(([, { resource }]) => resource.plural);
  assert.equal(new Set(plurals).size, plurals.length);
});

test("every kind in the namespaces of clusters tells which cluster it belongs to and what wakes it", () => {
  for (const [name, { clusters, wakes }] of namespaced) {
    assert.ok(clusters, name);
    assert.ok(wakes, name);
  }
});

test("a role that cannot name cluster-wide kinds is enough: none of them is waited for", () => {
  assert.ok(wide.every(([, { ifRefused }]) => ifRefused !== undefined));
});

test("the roles let the operator list and watch every kind of the table", () => {
  const mayFollow = new Set(
    [...NAMESPACED, ...CLUSTER_WIDE]
      .filter((one) => ["list", "watch"].every((verb) => (verbsOf(one) as string[]).includes(verb)))
      .map(({ group, resource }) => `${group}/${resource}`),
  );
  const followed = [...namespaced, ...wide].map(([, { resource }]) => `${resource.group}/${resource.plural}`);
  assert.deepEqual([...mayFollow].toSorted(), followed.toSorted());
});

test("finalizers may be written only of kinds that own other objects", () => {
  const owners = NAMESPACED.filter(({ resource }) => resource.endsWith("/finalizers"));
  assert.deepEqual(
    owners.map(({ resource }) => resource),
    ["etcdclusters/finalizers", "etcdmembers/finalizers"],
  );
});
