/**
 * Whether a member's workload has to be there, by its record and its volume: asked by every platform before it makes
 * one, by the plan and by the models. A record permits a start on one volume only (H2, I4).
 */
import type { MemberFacts, Observation } from "../observation.ts";
import { clusterToken } from "../record.ts";
import { entryOf } from "../view.ts";

export function shouldRun(observation: Observation, { record, volume }: MemberFacts): boolean {
  if (!record.run || volume.state !== "ready" || record.volumeUID !== volume.uid) return false;
  if (!record.leaving) return true;
  const { cluster, etcd } = observation;
  // Until etcd has let it go, its vote may still be needed: also that of a founder which has not started yet.
  const removed = etcd.list?.linearizable === true && entryOf(record, etcd.list.members) === undefined;
  const votes = record.joined || record.boot === "New";
  return votes && record.token === clusterToken(cluster.uid, cluster.marks) && !removed;
}
