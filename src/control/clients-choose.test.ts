import assert from "node:assert/strict";
import { test } from "node:test";
import { change, edit, healthy, run } from "../core/testing/cluster.ts";
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

test("they have the time while members serve: it neither begins nor goes on while the cluster is hibernated", () => {
  const closing = edit(healthy({ tls: { clientAuth: "None" } }), { tls: {} });
  const asleep = run(edit(closing, { replicas: 0 }));
  const awake = edit(asleep, { replicas: 3 });
  const choose = new ClientsChoose();
  assert.equal(choose.since(viewOf(asleep), 1), undefined);
  assert.equal(choose.since(viewOf(awake), 2), undefined, "nobody runs yet");
  const silent = change(closing, "demo-2", { answer: { reachable: false, error: "silent" } });
  assert.equal(choose.since(viewOf(silent), 3), undefined);
  assert.equal(choose.since(viewOf(closing), 4), 4);
  assert.equal(choose.since(viewOf(silent), 5), 4, "one that fails for a moment");
  assert.equal(choose.since(viewOf(asleep), 6), undefined);
  assert.equal(choose.since(viewOf(closing), 7), 7, "all of it again");
});

test("the time that is up stays so while members close one after another, also when the first that did leaves", () => {
  const open = healthy({ tls: { clientAuth: "None" } });
  const closing = edit(open, { tls: {} });
  const choose = new ClientsChoose();
  assert.equal(choose.since(viewOf(closing), 1), 1);
  const closed = change(closing, "demo-3", ({ record }) => ({
    record: { ...record, template: { ...record.template, tls: closing.cluster.spec.tls } },
  }));
  assert.equal(choose.since(viewOf(closed), 2), 1);
  const left = change(closed, "demo-3", ({ record }) => ({
    record: { ...record, leaving: { reason: "x", volume: "Delete" } },
  }));
  assert.equal(choose.since(viewOf(left), 3), 1);
});
