/** Facts of an observation about what a member's data directory holds, and what keeps it from being read. */

/** A data directory, read from its files. */
export type MemberDirectory =
  /** No log: it was never started, or it was wiped. */
  | ({ readonly state: "empty" } & MaybeAlone)
  /** etcd could not start from it. */
  | ({ readonly state: "damaged"; readonly why: string } & MaybeAlone)
  /** Being looked into; `why` says what that waits for. */
  | { readonly state: "reading"; readonly why?: string; readonly obstacle?: ReadObstacle }
  /** It could not be looked into for a while, although nothing runs on it: its node or its disk may be gone. */
  | { readonly state: "unreachable"; readonly why: string; readonly obstacle?: ReadObstacle }
  | ({
      readonly state: "data";
      readonly clusterID: string;
      readonly memberID: string;
      /** The last entry of its log. */
      readonly term: number;
      readonly index: number;
      /** The revision of its database, and how many entries of the log a start adds. */
      readonly revision: number;
      readonly replay: number;
      /** The member list in its database. Absent where it was left out. */
      readonly members?: readonly DirectoryMember[] | undefined;
    } & MaybeAlone);

interface MaybeAlone {
  /** Beside it: where an etcd that `quorate recover node` started from it alone has its data, which may be newer. */
  readonly alone?: string | undefined;
}

/** An entry of the member list, as of the last entry that was applied to the database. */
export interface DirectoryMember {
  readonly id: string;
  readonly name: string;
  readonly peerURL: string;
  readonly isLearner?: boolean | undefined;
}

/** By what a person can do about it. Only the last three say anything about the volume itself. */
export type ReadObstacle =
  /** What would read it was not let in: a quota, a policy, RBAC. */
  | "refused"
  /** The operator's own image cannot be had there. */
  | "image"
  /** One Pod alone may mount the volume, and its member runs on it. */
  | "in-use"
  /** No node takes what would read it. */
  | "unschedulable"
  /** The volume is not mounted. */
  | "mount"
  /** The node that has it does not answer. */
  | "node";
