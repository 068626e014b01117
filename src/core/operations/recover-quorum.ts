/**
 * recoverQuorum, once there is a quorum: the recovered member serves, and the others are rebuilt from it. What comes
 * before, without quorum, is done by the rule `recover`.
 */
import { joining, missingRole } from "../assess/size.ts";
import { HOLDS } from "../hold-classes.ts";
import { hold } from "../outcome.ts";
import { failed, rejected, succeeded, type Handler } from "./handler.ts";
import type { TaskOf } from "./task.ts";

export const recoverQuorum: Handler<TaskOf<"recoverQuorum">> = {
  prepare: () => rejected("QuorumNotLost", "the cluster has quorum, so there is nothing to recover"),

  advance(view, _task, operation) {
    const { recovered } = view.observation.cluster.marks;
    if (recovered?.operation !== operation.uid)
      return failed("PlanChanged", "quorum has returned, so nothing was recovered and no data was changed");
    const { survivor, revision } = recovered;
    const what = `recovered from the data of ${survivor}, which reached revision ${revision}`;
    if (!operation.status.steps?.some(({ member }) => member === survivor))
      return { done: { member: survivor, message: what } };
    const complete = missingRole(view) === undefined && joining(view).length === 0;
    return complete
      ? succeeded(`${what}; the other members were rebuilt`)
      : { next: hold(HOLDS.disruptions, "RecoveryRebuilds", { operation: operation.name }) };
  },
};
