/**
 * Members that etcd lists and that neither a record nor a peer URL of ours stands for: somebody else added them. They
 * count in every quorum, or take a learner's place, and so they are told of wherever the cluster is judged.
 */
import type { EtcdMemberEntry } from "../observation.ts";
import { quorum } from "../quorum.ts";
import { hasRoomForLearner } from "./size.ts";
import type { View } from "../view.ts";

/** Only a list that quorum confirmed can prove that somebody is there. */
export function foreignMembers({ established, observation, strangers }: View): readonly EtcdMemberEntry[] {
  return established && observation.etcd.list?.linearizable ? strangers.filter(({ ours }) => !ours) : [];
}

export function labelOf({ name, id, peerURLs }: EtcdMemberEntry): string {
  return `${name || "an unstarted member"} (${id}, ${peerURLs.join(" ")})`;
}

/** What it is, and what it costs. */
export function describeForeign(view: View, entry: EtcdMemberEntry): string {
  return `etcd lists ${labelOf(entry)}, a ${entry.isLearner ? "learner" : "voter"} that this cluster did not add${costOf(view, entry)}`;
}

function costOf(view: View, { isLearner, name }: EtcdMemberEntry): string {
  if (isLearner)
    return hasRoomForLearner(view) ? "" : "; it takes the last place for learners, so no member can join";
  const never = name === "" ? " and has never started" : "";
  const left = view.healthyVoters > quorum(view.voters) ? "" : "; none may fail now";
  return `; it counts in the quorum${never}${left}`;
}

/** What a person can do about it. */
export function removeForeign({ id }: EtcdMemberEntry): string {
  return `Remove it with etcdctl member remove ${id} if it does not belong here.`;
}
