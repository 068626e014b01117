/**
 * The cluster is being deleted: workloads end, then volumes as the retention says, then the records, then
 * the cluster itself. Nothing else is looked at any more, not even a pause: the person has decided.
 */
import { act, hold } from "../outcome.ts";
import type { Rule } from "../rule.ts";
import { names, ownVolume } from "../view.ts";

export const deletion: Rule = (view) => {
  const { cluster, platform } = view.observation;
  if (!cluster.deleting) return [];
  if (platform.fenced) return [];

  const running = view.members.find(
    ({ workload }) => workload.state !== "absent" && workload.state !== "stopping",
  );
  if (running) {
    return [act("life", "the cluster is being deleted", { kind: "StopWorkload", member: running.name })];
  }
  // A node that is gone will never confirm; its workload is left behind and told of.
  const stopping = view.members.filter(({ workload }) => workload.state === "stopping" && !workload.lostNode);
  if (stopping.length > 0) {
    return [hold({ classes: "all", reason: "Stopping", message: `waiting for ${names(stopping)} to stop` })];
  }
  for (const member of view.members) {
    const volumeUID = ownVolume(member);
    if (view.spec.storage.retention.onDelete === "Delete" && volumeUID !== undefined) {
      return [
        act("life", "the cluster is being deleted and storage.retention.onDelete is Delete", {
          kind: "DeleteVolume",
          member: member.name,
          volumeUID,
        }),
      ];
    }
  }
  const [member] = view.members;
  if (member)
    return [act("life", "the cluster is being deleted", { kind: "DeleteMember", member: member.name })];
  return [
    act("life", "nothing of the cluster is left but what its retention keeps", { kind: "FinishDeletion" }),
  ];
};
