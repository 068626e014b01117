/** Whether a member's data is gone for good, as far as its volume, its end, its directory and its answers tell. */
import type { MemberView, View } from "../view.ts";
import { exitOf, meaningOf } from "./exit-causes.ts";

/** A process that finds no data, or none that it can read, ends within this time. */
export const ENDS_WITHIN_MS = 30_000;

/** The same, also in the moment in which a kubelet has started it once more and it has not ended yet. */
export function isWithoutData(view: View): (member: MemberView) => boolean {
  return (member) => {
    if (hasLostItsData(member)) return true;
    const { workload, answer } = member;
    if (workload.state !== "running" || answer.reachable || !workload.lastEnd) return false;
    const isNew = view.now - workload.since < ENDS_WITHIN_MS;
    return isNew && meaningOf(workload.lastEnd.cause).data !== "kept";
  };
}

export function hasLostItsData(member: MemberView): boolean {
  const { record, volume, workload, directory, forgot } = member;
  if (forgot !== undefined) return true;
  if (volume.state === "absent" || (volume.state === "ready" && volume.uid !== record.volumeUID)) return true;
  // Of a member that runs or is being stopped, files may be read half written.
  const isWriting = workload.state === "running" || workload.state === "stopping";
  const isLost = directory?.state === "empty" || directory?.state === "damaged";
  if (record.joined && isLost && !isWriting) return true;
  return (exitOf(member)?.data ?? "kept") !== "kept";
}
