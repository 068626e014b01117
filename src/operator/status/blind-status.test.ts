import assert from "node:assert/strict";
import { test } from "node:test";
import { faultStatus, invalidStatus } from "./blind-status.ts";

const available = {
  type: "Available",
  status: "True" as const,
  reason: "Quorum",
  message: "well",
  lastTransitionTime: "2026-01-01T00:00:00Z",
};

test("the field and the reason are told; what is not looked at any more is unknown (I6)", () => {
  const before = { replicas: 3, leader: "demo-1", conditions: [available] };
  const status = invalidStatus([{ path: "spec.version", message: "is no release" }])(before, 7, 0);
  assert.equal(status.replicas, 3);
  assert.equal(status.observedGeneration, 7);
  const [was, progressing] = status.conditions ?? [];
  assert.deepEqual([was?.type, was?.status, was?.reason], ["Available", "Unknown", "InvalidSpec"]);
  assert.deepEqual([progressing?.status, progressing?.reason], ["False", "InvalidSpec"]);
  assert.match(progressing?.message ?? "", /spec\.version: is no release/);
  const again = invalidStatus([{ path: "spec.version", message: "is no release" }])(status, 7, 3_600_000);
  assert.deepEqual(again.conditions, status.conditions, "nothing moves while nothing changes");
});

test("a fault of the operator's own leaves nothing standing that nobody looks at any more (I6)", () => {
  const status = faultStatus(new TypeError("x is not a function"))({ conditions: [available] }, 3, 0);
  const [was, progressing] = status.conditions ?? [];
  assert.deepEqual([was?.status, was?.reason], ["Unknown", "OperatorFault"]);
  assert.equal(progressing?.status, "False");
  assert.match(status.phase ?? "", /TypeError: x is not a function.*Take the last edit back/);
});
