import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

interface Locked {
  readonly integrity?: string;
  readonly resolved?: string;
  readonly link?: boolean;
}

test("every package of Azurite is pinned by its hash, and none by the host of a registry", () => {
  const file = join(import.meta.dirname, "..", "azurite", "package-lock.json");
  const { packages } = JSON.parse(readFileSync(file, "utf8")) as { packages: Record<string, Locked> };
  const { "": _root, ...others } = packages;
  assert.ok(Object.keys(others).length > 100);
  for (const [name, { integrity, resolved, link }] of Object.entries(others)) {
    assert.match(integrity ?? "", /^sha(512|1)-/, name);
    assert.deepEqual([resolved, link], [undefined, undefined], name);
  }
});
