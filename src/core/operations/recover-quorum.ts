/**
 * recoverQuorum, once there is a quorum: the recovered member serves, and the others are rebuilt from it. What comes
 * before, without quorum, is done by the rule `recover`.
 */
import { failed, rejected, type Handler } from "./handler.ts";
import { rebuilding } from "./rebuild.ts";
import type { TaskOf } from "./task.ts";

export const recoverQuorum: Handler<TaskOf<"recoverQuorum">> = {
  prepare: () => rejected("QuorumNotLost", "the cluster has quorum, so there is nothing to recover"),

  advance(view, _task, operation) {
    const { recovered } = view.observation.cluster.marks;
    if (recovered?.operation !== operation.uid)
      return failed("PlanChanged", "quorum has returned, so nothing was recovered and no data was changed");
    const { survivor = "", revision } = recovered;
    const message = `recovered from the data of ${survivor}, which reached revision ${revision}`;
    return rebuilding(view, operation, { member: survivor, message });
  },
};
