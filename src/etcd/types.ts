/**
 * What the client returns: plain objects in etcd's words, with 64-bit numbers as `bigint`.
 * Fields that older servers do not send are optional, so that absence is not mistaken for a value.
 */

/** What a client trusts and shows, as PEM. */
export interface TlsCredentials {
  /** The authorities that sign servers; several during a rotation. */
  readonly ca: string;
  /** The client's certificate chain and key, for mutual TLS. */
  readonly cert?: string;
  readonly key?: string;
}

export interface Header {
  readonly clusterId: bigint;
  readonly memberId: bigint;
  readonly revision: bigint;
  readonly raftTerm: bigint;
}

export interface Member {
  readonly id: bigint;
  /** Empty until the member has started for the first time. */
  readonly name: string;
  readonly peerUrls: readonly string[];
  /** Empty until the member has started and published itself (H14). */
  readonly clientUrls: readonly string[];
  readonly isLearner: boolean;
}

export interface MemberList {
  readonly header: Header;
  readonly members: readonly Member[];
}

export interface MemberStatus {
  readonly header: Header;
  /** The member's server version, as "3.6.16". */
  readonly version: string;
  readonly dbSize: number;
  readonly dbSizeInUse: number;
  /** The leader's ID; 0 when the member knows none. */
  readonly leader: bigint;
  readonly isLeader: boolean;
  readonly isLearner: boolean;
  readonly raftIndex: bigint;
  readonly raftTerm: bigint;
  readonly raftAppliedIndex: bigint;
  /** Alarms and troubles in etcd's words, as "memberID:… alarm:NOSPACE". */
  readonly errors: readonly string[];
  /** Since 3.6. */
  readonly storageVersion?: string;
  /** Since 3.6, correct from 3.6.6. */
  readonly dbSizeQuota?: number;
  /** Since 3.6. */
  readonly downgrade?: { readonly enabled: boolean; readonly targetVersion: string };
}

export type AlarmKind = "NOSPACE" | "CORRUPT";

export interface Alarm {
  /** 0 for CORRUPT on 3.4 and 3.5, which do not tell whose it is (R32). */
  readonly memberId: bigint;
  readonly alarm: AlarmKind;
}

export interface HashKv {
  readonly header: Header;
  readonly hash: number;
  /** Hashes compare only at equal compact revisions (H14). */
  readonly compactRevision: bigint;
  /** Since 3.6: the revision that was hashed. */
  readonly hashRevision?: bigint;
}

export interface KeyValue {
  readonly key: Uint8Array;
  readonly value: Uint8Array;
  readonly createRevision: bigint;
  readonly modRevision: bigint;
  readonly version: bigint;
  /** 0 when the key hangs on no lease. */
  readonly lease: bigint;
}

/** A key or value: text is UTF-8. */
export type Bytes = string | Uint8Array;

export interface CallOptions {
  /** Longest time for the whole call, all tries included. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}
