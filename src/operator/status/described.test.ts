import assert from "node:assert/strict";
import { test } from "node:test";
import { edit, healthy } from "../../core/testing/cluster.ts";
import { hasClientSecret } from "./described.ts";

test("the client Secret is named as long as any member serves TLS, or the spec asks for it", () => {
  const named = ({ cluster, members }: ReturnType<typeof healthy>) =>
    hasClientSecret(
      cluster.spec,
      members.map(({ record }) => record),
    );
  const plain = { mode: "Disabled" } as const;
  assert.equal(named(healthy()), true);
  assert.equal(named(edit(healthy(), { tls: plain })), true, "all still serve TLS");
  assert.equal(named(healthy({ tls: plain })), false);
  assert.equal(named(edit(healthy({ tls: plain }), { tls: {} })), true);
});
