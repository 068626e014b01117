import assert from "node:assert/strict";
import { test } from "node:test";
import { Dropped } from "./dropped.ts";

test("fields that were dropped are named by their paths, and what was wanted counts as written", () => {
  const dropped = new Dropped();
  const wanted = { phase: "Ready", members: [{ name: "a", lag: 1 }, { name: "b" }], gone: undefined };
  const stored = { phase: "Ready", members: [{ name: "a" }, { name: "b" }] };
  dropped.wrote("EtcdCluster", wanted, stored, 0);
  assert.deepEqual(dropped.fields, ["status.members[].lag"]);
  assert.equal(dropped.before("EtcdCluster", { ...stored }, 1), wanted);
  const other = { phase: "Failed" };
  assert.equal(dropped.before("EtcdCluster", other, 1), other, "somebody else wrote since");
  assert.equal(dropped.before("EtcdMember a", stored, 1), stored);
  assert.equal(dropped.before("EtcdCluster", stored, 600_000), stored, "it is tried again");
  dropped.wrote("EtcdCluster", stored, stored, 2);
  assert.deepEqual(dropped.fields, []);
});
