import assert from "node:assert/strict";
import { test } from "node:test";
import { faultStatus, invalidStatus } from "./unobserved-status.ts";

const available = {
  type: "Available",
  status: "True" as const,
  reason: "Quorum",
  message: "well",
  lastTransitionTime: "2026-01-01T00:00:00Z",
};

test("the field and the reason are reported; what is not looked at any more is unknown (I6)", () => {
  const before = { replicas: 3, leader: "demo-1", conditions: [available] };
  const status = invalidStatus([{ path: "spec.version", message: "is no release" }])(before, 7, 0);
  assert.equal(status.replicas, 3);
  assert.equal(status.observedGeneration, 7);
  const reported = (type: string) => status.conditions?.find((known) => known.type === type);
  const [was, stalled, ready] = ["Available", "Stalled", "Ready"].map(reported);
  assert.deepEqual([was?.status, was?.reason], ["Unknown", "InvalidSpec"]);
  assert.deepEqual([stalled?.status, stalled?.reason], ["True", "InvalidSpec"]);
  assert.deepEqual([ready?.status, status.phase], ["False", "Stalled"], "that it is not applied is certain");
  assert.match(status.message ?? "", /spec\.version: is no release/);
  assert.ok(status.conditions?.every(({ observedGeneration }) => observedGeneration === 7));
  const again = invalidStatus([{ path: "spec.version", message: "is no release" }])(status, 7, 3_600_000);
  assert.deepEqual(again.conditions, status.conditions, "nothing moves while nothing changes");
});

test("a fault of the operator's own leaves nothing standing that nobody looks at any more (I6)", () => {
  const status = faultStatus(new TypeError("x is not a function"))({ conditions: [available] }, 3, 0);
  const reported = (type: string) => status.conditions?.find((known) => known.type === type)?.status;
  assert.deepEqual(["Available", "Ready", "Stalled"].map(reported), ["Unknown", "Unknown", "True"]);
  assert.match(status.message ?? "", /TypeError: x is not a function.*Undo the last edit/);
});
