import assert from "node:assert/strict";
import { test } from "node:test";
import { edit, healthy } from "../core/testing/cluster.ts";
import { viewOf } from "../core/view.ts";
import { ClientsChoose } from "./clients-choose.ts";

test("clients choose from when the spec ends what they may still use, for as long as it does", () => {
  const open = healthy({ tls: { clientAuth: "None" } });
  const closing = viewOf(edit(open, { tls: {} }));
  const choose = new ClientsChoose();
  assert.equal(choose.since(viewOf(open), 1), undefined);
  assert.equal(choose.since(closing, 2), 2);
  assert.equal(choose.since(viewOf(edit(open, { tls: {}, paused: true })), 3), 2, "nothing else matters");
  assert.equal(choose.since(viewOf(open), 4), undefined);
  assert.equal(choose.since(closing, 5), 5, "another time");
});
