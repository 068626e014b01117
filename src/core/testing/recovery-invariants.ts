/** What must hold before the data of a cluster is given up for a copy: I10. */
import assert from "node:assert/strict";
import type { Observation } from "../observation.ts";

/** Nobody but a person gives up what lost members had, or what was written since a snapshot. */
export function assertApproved({ operations }: Observation, plan: string | undefined): void {
  const isApproved = operations.some(
    ({ task, status }) =>
      (task.kind === "recoverQuorum" || task.kind === "restore") &&
      task.approve === plan &&
      status.phase === "Running",
  );
  assert.ok(isApproved, "I10: a person approved exactly this plan");
}

/** Nobody runs, and nobody is started again. */
export function assertAllEnded({ members }: Observation): void {
  for (const { record, workload } of members) {
    assert.ok(workload.state === "absent" || workload.state === "exited", "I10: nobody runs");
    assert.ok(!record.run, "I10: nobody is to run");
  }
}
