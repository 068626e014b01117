/**
 * recoverQuorum, once there is a quorum: the recovered member serves, and the others are rebuilt from it. What comes
 * before, without quorum, is done by the rule `recover`.
 */
import type { RestoreSource } from "../../api/bootstrap.ts";
import { ending } from "../messages/operation-endings.ts";
import { DONE, type KeptPlace } from "../messages/operation-steps.ts";
import type { Handler } from "./handler.ts";
import { rebuilding } from "./rebuild.ts";
import type { TaskOf } from "./task.ts";

export const recoverQuorum: Handler<TaskOf<"recoverQuorum">> = {
  prepare: () => ({ reject: ending("QuorumThere", {}) }),

  advance(view, _task, operation) {
    const { recovered } = view.observation.cluster.marks;
    if (recovered?.operation !== operation.uid) return { fail: ending("QuorumReturned", {}) };
    const { survivor = "", revision, restore, node } = recovered;
    const message = DONE.recovered({ survivor, revision, kept: placeOf(restore.source, node) });
    return rebuilding(view, operation, { member: survivor, message });
  },
};

/** Where the snapshot lies that the cluster began anew from. */
function placeOf({ pvc, file }: RestoreSource, node: string | undefined): KeptPlace | undefined {
  if (pvc) return { on: "claim", path: pvc.path, claim: pvc.claimName };
  return file && { on: "machine", path: file.path, node };
}
