/**
 * Whether a member's workload has to be there, by its record and its volume: asked by every platform before it
 * makes one. A record permits a start on one volume only (H2, I4).
 */
import type { MemberView, View } from "../core/view.ts";

export function shouldRun(view: View, { record, volume, entry }: MemberView): boolean {
  if (!record.run || volume.state !== "ready" || record.volumeUID !== volume.uid) return false;
  if (!record.leaving) return true;
  // Until etcd has let it go, its vote may still be needed: also that of a founder which has not started yet.
  const removed = view.observation.etcd.list?.linearizable === true && entry === undefined;
  const votes = record.joined || record.boot === "New";
  return votes && record.token === view.token && !removed;
}
