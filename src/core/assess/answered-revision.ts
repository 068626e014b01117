/** How far the cluster has come, as its members say now. */
import type { View } from "../view.ts";

/** The highest revision in the answers of members of this very cluster; 0 where nobody answers. */
export function answeredRevision({ members, observation }: View): number {
  const clusterID = observation.cluster.marks.established?.clusterID;
  const revisions = members.map(({ answer }) =>
    answer.reachable && (clusterID === undefined || answer.clusterID === clusterID) ? answer.revision : 0,
  );
  return Math.max(0, ...revisions);
}
