import assert from "node:assert/strict";
import { test } from "node:test";
import { invalidStatus } from "./invalid-status.ts";

test("the field and the reason are told; what is not looked at any more is unknown (I6)", () => {
  const available = {
    type: "Available",
    status: "True" as const,
    reason: "Quorum",
    message: "well",
    lastTransitionTime: "2026-01-01T00:00:00Z",
  };
  const before = { replicas: 3, leader: "demo-1", conditions: [available] };
  const status = invalidStatus(before, [{ path: "spec.version", message: "is no release" }], 7, 0);
  assert.equal(status.replicas, 3);
  assert.equal(status.observedGeneration, 7);
  const [was, progressing] = status.conditions ?? [];
  assert.deepEqual([was?.type, was?.status, was?.reason], ["Available", "Unknown", "InvalidSpec"]);
  assert.deepEqual([progressing?.status, progressing?.reason], ["False", "InvalidSpec"]);
  assert.match(progressing?.message ?? "", /spec\.version: is no release/);
  const again = invalidStatus(status, [{ path: "spec.version", message: "is no release" }], 7, 3_600_000);
  assert.deepEqual(again.conditions, status.conditions, "nothing moves while nothing changes");
});
