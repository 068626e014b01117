/** What is said of a member that etcd lists and that this cluster did not add. */
export interface Foreign {
  readonly id: string;
  /** Empty for one that has never started. */
  readonly name: string;
  readonly peerURLs: readonly string[];
  readonly isLearner: boolean;
  /** A learner: it takes the last place. A voter: with it, none may fail. */
  readonly isInTheWay: boolean;
}

export type ListedMember = Pick<Foreign, "id" | "name" | "peerURLs">;

export function labelOf({ name, id, peerURLs }: ListedMember): string {
  return `${name || "an unstarted member"} (${id}, ${peerURLs.join(" ")})`;
}

/** What it is, and what it costs. */
export function sayForeign(foreign: Foreign): string {
  const role = foreign.isLearner ? "learner" : "voter";
  return `etcd lists ${labelOf(foreign)}, a ${role} that this cluster did not add${costOf(foreign)}`;
}

function costOf({ isLearner, isInTheWay, name }: Foreign): string {
  if (isLearner) return isInTheWay ? "; it takes the last place for learners, so no member can join" : "";
  const never = name === "" ? " and has never started" : "";
  return `; it counts in the quorum${never}${isInTheWay ? "; none may fail now" : ""}`;
}

export function removeForeign({ id }: Pick<Foreign, "id">): string {
  return `Remove it with etcdctl member remove ${id} if it does not belong here.`;
}

export const FOREIGN_EXAMPLE: Foreign = {
  id: "8e9e05c52164694d",
  name: "guest",
  peerURLs: ["http://10.0.0.9:2380"],
  isLearner: false,
  isInTheWay: true,
};
