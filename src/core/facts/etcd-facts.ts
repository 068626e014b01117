/** Facts of an observation that etcd itself tells: what each member answered, and what the cluster as a whole says. */
/** Why we could not ask a member, as far as the failure itself tells: where a person would look first. */
export type UnreachableCause =
  /** Nothing answers at its address: no process listens there, or packets are lost on the way. */
  | "network"
  /** One side does not accept the certificate of the other. */
  | "certificate"
  /** etcd answers and refuses: authentication is enabled, and we have no user there (R40). */
  | "authentication"
  | "unknown";

export type MemberAnswer =
  | { readonly reachable: false; readonly error: string; readonly cause?: UnreachableCause }
  | {
      readonly reachable: true;
      readonly memberID: string;
      readonly clusterID: string;
      /** "0" when it knows no leader. */
      readonly leaderID: string;
      readonly isLearner: boolean;
      readonly version: string;
      /** Empty below 3.6. */
      readonly storageVersion: string;
      readonly raftIndex: number;
      readonly raftAppliedIndex: number;
      readonly raftTerm: number;
      readonly revision: number;
      readonly dbSize: number;
      readonly dbSizeInUse: number;
      /** The quota that it runs with, where etcd tells it rightly: from 3.6.6 on. */
      readonly dbSizeQuota?: number;
      /** A linearizable read through this member succeeded; learners cannot serve one (R17). */
      readonly linearizable: boolean;
      /** That read was refused for who we are (R40): whether it would have succeeded is not known. */
      readonly refused?: boolean;
      readonly downgrade?: { readonly enabled: boolean; readonly target: string };
    };

/** A read through quorum that began at this time told this revision. */
export interface RevisionLook {
  readonly revision: number;
  readonly at: number;
}

export interface EtcdFacts {
  /** The member list, from a voter where one answers; undefined when nobody does. */
  readonly list?: {
    readonly clusterID: string;
    /** Confirmed by quorum. Without it the list may be old, and no membership change is possible (R21). */
    readonly linearizable: boolean;
    readonly members: readonly EtcdMemberEntry[];
  };
  /** The version the whole cluster speaks, e.g. "3.6"; undefined while unknown. */
  readonly clusterVersion?: string;
  readonly alarms: readonly { readonly memberID: string; readonly alarm: "NOSPACE" | "CORRUPT" }[];
  /** The newest comparison of hashes that this controller made; forgotten at its restart. */
  readonly hashes?: HashReport;
  /** The newest compaction that this controller asked for. */
  readonly compacted?: { readonly revision: number; readonly at: number };
  /** Without quorum: the highest revision that was ever seen of this cluster; 0 where none was. */
  readonly highestRevision?: number;
  /** Without quorum: when this controller last read through one of this cluster; undefined where it never did. */
  readonly quorumSeenAt?: number;
  /** Without quorum: what such reads told at which times, in their order; few, and no more of the past than is known. */
  readonly revisionLooks?: readonly RevisionLook[];
  /** How fast the leader's log grows, where this controller has seen it for a second. */
  readonly entriesPerSecond?: number;
  /** How fast the data in use grows (or shrinks), where this controller has seen it for a while. */
  readonly bytesPerSecond?: number;
  /** When this controller last nudged a joiner. */
  readonly nudgedAt?: number;
  /** When this controller last disarmed NOSPACE, by the ID of the member that had raised it. */
  readonly disarmedAt?: Readonly<Record<string, number>>;
  /** When each member was last defragmented by us, by name. */
  readonly defragmentedAt: Readonly<Record<string, number>>;
  /** For which operation each member was last defragmented by this controller: its UID, by name. */
  readonly defragmentedFor?: Readonly<Record<string, string>>;
}

export interface EtcdMemberEntry {
  readonly id: string;
  /** Empty until the member has started and published itself. */
  readonly name: string;
  readonly peerURLs: readonly string[];
  readonly clientURLs: readonly string[];
  readonly isLearner: boolean;
  /** The platform knows this peer URL as one that only this cluster can have made. */
  readonly ours: boolean;
  /** No record stands for it as far as is known, but that could not be confirmed where records are kept. */
  readonly recordUnconfirmed?: boolean;
}

export interface HashReport {
  readonly at: number;
  readonly revision: number;
  readonly byMember: Readonly<Record<string, { readonly hash: number; readonly compactRevision: number }>>;
}
