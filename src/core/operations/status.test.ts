import assert from "node:assert/strict";
import { test } from "node:test";
import { operationOf } from "../testing/operations.ts";
import { isReported, statusAfter, type OperationVerdict } from "./status.ts";

const RESTART = { kind: "restart" } as const;

test("what a status says is not written again, also where its field holds only a part of the sentence", () => {
  for (const length of [20, 5_000]) {
    const verdict: OperationVerdict = { phase: "Pending", reason: "Queued", message: "x".repeat(length) };
    const status = statusAfter(operationOf(RESTART), verdict, 0);
    assert.ok(isReported(status, verdict));
    assert.ok(!isReported(status, { ...verdict, reason: "ClusterNotFound" }));
    assert.ok(!isReported(status, { ...verdict, phase: "Rejected" }));
    assert.ok(!isReported(status, { ...verdict, message: "something else" }));
  }
  assert.ok(!isReported(undefined, { phase: "Pending", reason: "Queued", message: "waits" }));
});
