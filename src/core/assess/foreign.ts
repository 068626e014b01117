/**
 * Members that etcd lists and that neither a record nor a peer URL of ours stands for: somebody else added them. They
 * count in every quorum, or take a learner's place, and so they are reported wherever the cluster is judged.
 */
import type { EtcdMemberEntry } from "../observation.ts";
import { sayForeign, type Foreign, type ListedMember } from "../messages/foreign.ts";
import { quorum } from "../quorum.ts";
import { hasRoomForLearner } from "./size.ts";
import type { View } from "../view.ts";

/** Only a list that quorum confirmed can prove that somebody is there. */
export function foreignMembers({ established, observation, unrecorded }: View): readonly EtcdMemberEntry[] {
  return established && observation.etcd.list?.linearizable ? unrecorded.filter(({ ours }) => !ours) : [];
}

/** What it is, and what it costs. */
export function foreignOf(view: View, entry: EtcdMemberEntry): Foreign {
  const { isLearner } = entry;
  const isInTheWay = isLearner ? !hasRoomForLearner(view) : view.healthyVoters <= quorum(view.voters);
  return { ...listed(entry), isLearner, isInTheWay };
}

/** An entry of etcd's list, as messages name it. */
export function listed({ id, name, peerURLs }: EtcdMemberEntry): ListedMember {
  return { id, name, peerURLs };
}

export function describeForeign(view: View, entry: EtcdMemberEntry): string {
  return sayForeign(foreignOf(view, entry));
}
