import assert from "node:assert/strict";
import { test } from "node:test";
import { sentence } from "./condition.ts";

test("a sentence begins large unless with a name, and ends once", () => {
  assert.equal(sentence("no quorum answers"), "No quorum answers.");
  assert.equal(sentence("demo-1 leads"), "demo-1 leads.");
  assert.equal(sentence("etcd answers"), "etcd answers.");
  assert.equal(sentence("spec.replicas is 0"), "spec.replicas is 0.");
  assert.equal(sentence("is it so?"), "Is it so?");
  assert.equal(sentence("all of demo-1 is gone."), "All of demo-1 is gone.");
});
