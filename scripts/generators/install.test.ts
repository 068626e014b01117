/** What holds of the installation without a server; the rest is in test/kube/install.test.ts. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { manifests, namespacedTo, pathOf } from "../../test/support/install.ts";

test("two installations for one namespace each share no object, and refer to none of each other's", () => {
  const first = manifests("install-namespaced.yaml");
  const second = namespacedTo("team-a");
  const paths = first.map((object) => pathOf(object));
  const shared = second.map((object) => pathOf(object)).filter((path) => paths.includes(path));
  assert.deepEqual(shared, []);
  // By the same names with the other namespace in them, and nothing else.
  const renamed = JSON.stringify(second).replaceAll(/"team-a(?=[".])/g, '"etcd');
  assert.deepEqual(JSON.parse(renamed), first);
});

test("no installation for one namespace shares an object with the one for all", () => {
  const all = manifests("install.yaml").map((object) => pathOf(object));
  const clashing = manifests("install-namespaced.yaml").map((object) => pathOf(object));
  assert.deepEqual(
    clashing.filter((path) => all.includes(path)),
    [],
  );
});
