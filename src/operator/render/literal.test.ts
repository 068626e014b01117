import assert from "node:assert/strict";
import { test } from "node:test";
import { literal } from "./literal.ts";

test("a kubelet expands no variable in text from a spec", () => {
  assert.equal(literal("http://$(KEY).example/$$(a)$"), "http://$$(KEY).example/$$$$(a)$$");
  assert.equal(literal("s3://backups/prod/"), "s3://backups/prod/");
});
