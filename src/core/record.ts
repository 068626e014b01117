/**
 * The durable memory of a cluster: one record per member (an EtcdMember on Kubernetes, a file on one
 * machine) and the marks on the cluster itself. Everything the operator must not forget is here; nothing
 * of it is kept in the operator's own memory, and nothing is read back from status.
 */
import type { AdoptionMark } from "./facts/adoption-facts.ts";
import { canonical, shortHash } from "./template/hash.ts";
import type { Restore, RestoreRecipe } from "../api/bootstrap.ts";
import type {
  EffectiveTLS,
  InitialPeer,
  MemberAddress,
  MemberRole,
  MemberTemplate,
} from "../api/etcd-member.ts";

export type { EffectiveTLS, InitialPeer, MemberAddress, MemberRole, MemberTemplate };

/** The spec of an EtcdMember, with what the platform adds to it: name, uid, version and time of creation. */
export interface MemberRecord {
  readonly name: string;
  readonly ordinal: number;
  readonly uid: string;
  /** Opaque; every write of the record carries it as a precondition, which makes the record a lock (H10). */
  readonly resourceVersion: string;
  readonly createdAt: number;
  /** What the member is meant to become; a voter joins as a learner too (R17). */
  readonly role: MemberRole;
  /** `<cluster uid>-<life>`: never the same for two lives of a cluster (R5, H11). */
  readonly token: string;
  /** How it starts on an empty directory: with the founding members, or by joining them (R4). */
  readonly boot: "New" | "Join";
  readonly address: MemberAddress;
  /** Founders: the whole first cluster. Joiners: the member list at the moment they may start (H7). */
  readonly initialCluster: readonly InitialPeer[];
  /** A founder that starts from a snapshot, and from nothing else: alone, the others join it. */
  readonly restore?: RestoreRecipe | undefined;
  /** etcd's ID, as hex, from the moment it is known. */
  readonly memberID?: string;
  /** The volume on which it may start, and may have started; no other is ever used (H2, I4). */
  readonly volumeUID?: string;
  /** Seen serving in its cluster. From here on it restarts with itself only and state `existing` (H3, I4). */
  readonly joined: boolean;
  /** False while hibernated: the workload is gone, the volume stays. */
  readonly run: boolean;
  readonly template: MemberTemplate;
  /** The operation that last restarted it. Part of what its workload is started from. */
  readonly restart?: string;
  /** To be replaced by a newcomer while it still serves (H6: add, promote, then remove). */
  readonly retiring?: {
    readonly reason: string;
    /** A person asked for it: no spec takes it back. */
    readonly requested?: boolean | undefined;
  };
  /** To be removed from etcd, then deleted. Written before the call, so that only this intent is acted on (H10). */
  readonly leaving?: {
    readonly reason: string;
    readonly volume: "Delete" | "Retain";
    /** It was broken, which counts against `repair.maxReplacementsPerHour`. */
    readonly broken?: boolean;
  };
}

/** Facts about the cluster that must outlive status; kept as annotations, or in the cluster's file. */
export interface ClusterMarks {
  /** Counts the lives of this cluster; part of the token (H11). Starts at 1. */
  readonly life: number;
  /** The latch of I3: this token's cluster was seen to exist. Compared by token, not as a boolean. */
  readonly established?: {
    readonly token: string;
    readonly clusterID: string;
    /** What it was restored from, as `restoreHash`; absent for a cluster that began empty. */
    readonly restored?: string | undefined;
  };
  /**
   * A person approved this plan: the snapshot that was made from the survivor's data after quorum was lost for good, or
   * one that was restored in place. Every life from then on begins from it, and never empty.
   */
  readonly recovered?: {
    readonly plan: string;
    /** The UID of the EtcdOperation that approved it. */
    readonly operation: string;
    /** Absent where a snapshot was restored. */
    readonly survivor?: string | undefined;
    readonly revision: number;
    /** When that was decided. Absent from before there was such a time. */
    readonly at?: number;
    readonly restore: RestoreRecipe;
    /** Where the snapshot is a file of a node: there the first member starts. */
    readonly node?: string | undefined;
  };
  /** Volumes of a former life are being taken over; gone when each of its members has a record. */
  readonly adopting?: AdoptionMark | undefined;
  /** The key that members sign tokens with, since when, and the UID of the EtcdOperation that asked for it. Absent: the first. */
  readonly tokenKey?: {
    readonly number: number;
    readonly since: number;
    readonly operation?: string | undefined;
  };
  /** The highest ordinal ever given out, so that names are never reused even when every record is gone. */
  readonly highestOrdinal: number;
  /** Two learners once joined together: etcd 3.5 would panic replaying that log (H1). */
  readonly batchJoined?: boolean;
  /**
   * The minor whose requests may still be in somebody's log, and the index at which they end; unknown while
   * a member of that minor runs. The second minor after it cannot replay them (H5).
   */
  readonly oldLog?: { readonly minor: string; readonly until?: number };
  /** Members replaced because they were broken, and when; only the last hour is kept. */
  readonly replaced?: Readonly<Record<string, number>>;
  /** A target that a canary could not run, by template hash; cleared by a new spec. */
  readonly failedTarget?: { readonly hash: string; readonly member: string; readonly reason: string };
}

export const FIRST_MARKS: ClusterMarks = { life: 1, highestOrdinal: 0 };

export function clusterToken(clusterUID: string, marks: ClusterMarks): string {
  return `${clusterUID}-${marks.life}`;
}

/** True once the cluster of this life was seen to exist; then `initial-cluster-state: new` is over (I3). */
export function isEstablished(clusterUID: string, marks: ClusterMarks): boolean {
  return marks.established?.token === clusterToken(clusterUID, marks);
}

/**
 * Tells one recipe of a restore from another, by what was asked for: what followed from an EtcdSnapshot, from the schedule
 * of a point in time or from the time of the restore is no part of it.
 */
export function restoreHash(restore: Restore | RestoreRecipe | undefined): string | undefined {
  if (restore === undefined) return undefined;
  const { revision: _known, raiseTo: _raised, fitsQuota: _fits, ...asked } = restore as RestoreRecipe;
  return hashOf(asked);
}

function hashOf(restore: Restore): string {
  const { snapshot, pointInTime, encryption, revisionBump } = restore;
  if (pointInTime !== undefined) {
    const asked = pointInTime.schedule === undefined ? { encryption } : {};
    return shortHash(canonical({ pointInTime, revisionBump, ...asked }));
  }
  return shortHash(canonical(snapshot === undefined ? restore : { snapshot, revisionBump }));
}

export function memberName(cluster: string, ordinal: number): string {
  return `${cluster}-${ordinal}`;
}

/** The ordinal of one of our names, or undefined for a name that we never gave. */
export function ordinalOf(cluster: string, name: string): number | undefined {
  if (!name.startsWith(`${cluster}-`)) return undefined;
  const digits = name.slice(cluster.length + 1);
  return /^[1-9]\d{0,8}$/.test(digits) ? Number(digits) : undefined;
}
