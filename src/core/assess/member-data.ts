/** What a member's directory holds of this cluster, and which of several logs knows most. */
import type { MemberDirectory } from "../observation.ts";
import type { MemberView, View } from "../view.ts";

export type DataFound = Extract<MemberDirectory, { state: "data" }>;

/** What it holds of this cluster and as this member. */
export function dataOf({ observation }: View, { record, directory }: MemberView): DataFound | undefined {
  const clusterID = observation.cluster.marks.established?.clusterID;
  if (directory?.state !== "data" || directory.clusterID !== clusterID) return undefined;
  return record.memberID === undefined || record.memberID === directory.memberID ? directory : undefined;
}

/** The one that knows most comes first: by the term and then the index of its last entry, as raft compares logs. */
export function byLog(a: DataFound, b: DataFound): number {
  return b.term - a.term || b.index - a.index;
}
