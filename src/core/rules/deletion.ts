/**
 * The cluster is being deleted: workloads end, then volumes as the retention says, then the records, then
 * the cluster itself. Nothing else is looked at any more, not even a pause: the person has decided.
 */
import { act, hold } from "../outcome.ts";
import { HOLDS } from "../hold-classes.ts";
import type { Rule } from "../rule.ts";
import { dataLeft, namesOf, ownVolume } from "../view.ts";

export const deletion: Rule = (view) => {
  const { cluster, platform } = view.observation;
  if (!cluster.deleting) return [];
  if (platform.fenced) return [];

  const running = view.members.find(
    ({ workload }) => workload.state !== "absent" && workload.state !== "stopping",
  );
  if (running) {
    return [act("life", "ClusterDeleted", {}, { kind: "StopWorkload", member: running.name })];
  }
  // A node that is gone will never confirm; its workload is left behind and told of.
  const stopping = view.members.filter(({ workload }) => workload.state === "stopping" && !workload.lostNode);
  if (stopping.length > 0) {
    return [hold(HOLDS.everything, "WaitingForStop", { members: namesOf(stopping) })];
  }
  for (const member of view.members) {
    const volumeUID = ownVolume(member);
    if (view.spec.storage.retention.onDelete === "Delete" && volumeUID !== undefined) {
      return [act("life", "VolumesDeleted", {}, { kind: "DeleteVolume", member: member.name, volumeUID })];
    }
  }
  const [member] = view.members;
  if (member) {
    const deletes = { kind: "DeleteMember", member: member.name } as const;
    const where = dataLeft(member);
    return view.spec.storage.retention.onDelete === "Delete" && where !== undefined
      ? [act("life", "DataRemains", { member: member.name, where }, deletes)]
      : [act("life", "ClusterDeleted", {}, deletes)];
  }
  return [act("life", "NothingLeft", {}, { kind: "FinishDeletion" })];
};
