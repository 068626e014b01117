import assert from "node:assert/strict";
import { test } from "node:test";
import { agreedVersion } from "./probe.ts";

test("what a cluster says before its members have agreed on a version is no version", () => {
  assert.equal(agreedVersion("not_decided"), undefined);
  assert.equal(agreedVersion(undefined), undefined);
  assert.equal(agreedVersion("3.0.0"), undefined);
  assert.equal(agreedVersion("3.6.0"), "3.6.0");
});
