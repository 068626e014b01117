/** Whether a member's data is gone for good, as far as its volume, its end, its directory and its answers tell. */
import type { MemberView } from "../view.ts";
import { exitOf } from "./exit-causes.ts";

export function hasLostItsData(member: MemberView): boolean {
  const { record, volume, workload, directory, forgot } = member;
  if (forgot !== undefined) return true;
  if (volume.state === "absent" || (volume.state === "ready" && volume.uid !== record.volumeUID)) return true;
  // Of a member that runs or is being stopped, files may be read half written.
  const isWriting = workload.state === "running" || workload.state === "stopping";
  const isReadable = directory === undefined || directory.state === "data" || isWriting;
  if (record.joined && !isReadable) return true;
  return (exitOf(member)?.data ?? "kept") !== "kept";
}
