/**
 * recoverQuorum, once there is a quorum: the recovered member serves, and the others are rebuilt from it. What comes
 * before, without quorum, is done by the rule `recover`.
 */
import type { RestoreSource } from "../../api/bootstrap.ts";
import { failed, rejected, type Handler } from "./handler.ts";
import { rebuilding } from "./rebuild.ts";
import type { TaskOf } from "./task.ts";

export const recoverQuorum: Handler<TaskOf<"recoverQuorum">> = {
  prepare: () => rejected("QuorumNotLost", "the cluster has quorum, so there is nothing to recover"),

  advance(view, _task, operation) {
    const { recovered } = view.observation.cluster.marks;
    if (recovered?.operation !== operation.uid)
      return failed("PlanChanged", "quorum has returned, so nothing was recovered and no data was changed");
    const { survivor = "", revision, restore, node } = recovered;
    const place = placeOf(restore.source, node);
    const kept = place === undefined ? "" : `; its snapshot is kept ${place}`;
    const message = `recovered from the data of ${survivor}, which reached revision ${revision}${kept}`;
    return rebuilding(view, operation, { member: survivor, message });
  },
};

/** Where the snapshot lies that the cluster began anew from. */
function placeOf({ pvc, file }: RestoreSource, node: string | undefined): string | undefined {
  if (pvc) return `as ${pvc.path} on the claim ${pvc.claimName}`;
  return file && `as ${file.path}${node === undefined ? "" : ` on ${node}`}`;
}
