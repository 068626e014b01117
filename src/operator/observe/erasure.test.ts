import assert from "node:assert/strict";
import { test } from "node:test";
import type { ContainerState, Pod, PodStatus } from "kubernetes-types/core/v1.d.ts";
import { ERASE_REFUSED } from "../../recovery/erase.ts";
import { writeResult } from "../../snapshot/result.ts";
import { erasureOf } from "./erasure.ts";

const ended = (message: string): ContainerState => ({ terminated: { exitCode: 1, message } });
const container = (state: ContainerState, lastState: ContainerState = {}): PodStatus => ({
  phase: "Running",
  containerStatuses: [
    { name: "erase", image: "i", imageID: "i", ready: false, restartCount: 0, state, lastState },
  ],
});
const of = (status: PodStatus) => erasureOf({ status } satisfies Pod, 5);

test("the Pod that deletes a directory is waited for, and says what keeps it", () => {
  assert.deepEqual(of({}), { is: "running", since: 5 });
  assert.deepEqual(of(container({ waiting: { reason: "ContainerCreating" } })), { is: "running", since: 5 });
  assert.deepEqual(of(container({ waiting: { reason: "ErrImagePull", message: "no such image" } })), {
    is: "running",
    since: 5,
    why: "ErrImagePull: no such image",
  });
  const failed = ended(writeResult({ ok: false, reason: "EraseFailed", message: "the disk is read-only" }));
  assert.deepEqual(of(container({ waiting: { reason: "CrashLoopBackOff" } }, failed)), {
    is: "running",
    since: 5,
    why: "the disk is read-only",
  });
});

test("it is over when the Pod has succeeded, failed for good, or refused", () => {
  assert.deepEqual(of({ phase: "Succeeded" }), { is: "done" });
  assert.deepEqual(of({ phase: "Failed", reason: "DeadlineExceeded", message: "too long" }), {
    is: "impossible",
    why: "the Pod that deletes it failed (DeadlineExceeded: too long)",
  });
  const refusal = writeResult({ ok: false, reason: ERASE_REFUSED, message: "/d was not deleted: a link" });
  for (const status of [container(ended(refusal)), container({ waiting: {} }, ended(refusal))])
    assert.deepEqual(of(status), { is: "impossible", why: "/d was not deleted: a link" });
});
