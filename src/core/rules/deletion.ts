/**
 * The cluster is being deleted: workloads end, then volumes as the retention says, then the records, then
 * the cluster itself. Nothing else is looked at any more, not even a pause: the person has decided.
 */
import { act, hold } from "../steps/outcome.ts";
import { HOLDS } from "../steps/hold-classes.ts";
import type { Rule } from "../rule.ts";
import { clearanceOf, type Clearance } from "../assess/clearance.ts";
import { namesOf } from "../view.ts";

const RETAINED: Clearance = { next: "none" };

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
  const isDeleted = view.spec.storage.retention.onDelete === "Delete";
  const clearances = view.members.map((member) => ({
    member: member.name,
    clearance: isDeleted ? clearanceOf(view, member) : RETAINED,
  }));
  // All of them are asked for before the first is waited for.
  for (const { member, clearance } of clearances) {
    if (clearance.next === "delete") {
      const { volumeUID } = clearance;
      return [act("life", "VolumesDeleted", {}, { kind: "DeleteVolume", member, volumeUID })];
    }
  }
  for (const { member, clearance } of clearances) {
    if (clearance.next === "wait") {
      const { where, until } = clearance;
      return [hold(HOLDS.everything, "DataBeingDeleted", { member, where }, { until })];
    }
  }
  const [first] = clearances;
  if (first) {
    const { member, clearance } = first;
    const deletes = { kind: "DeleteMember", member } as const;
    if (clearance.next !== "leave") return [act("life", "ClusterDeleted", {}, deletes)];
    const { where, why } = clearance;
    return [act("life", "DataRemains", { member, where, why }, deletes)];
  }
  return [act("life", "NothingLeft", {}, { kind: "FinishDeletion" })];
};
