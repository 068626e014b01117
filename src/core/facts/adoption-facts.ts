/** Facts of an observation about the volumes that a former life of a cluster left, for `spec.storage.adopt`. */
import type { MemberAddress } from "../../api/etcd-member.ts";
import type { MemberDirectory } from "./directory-facts.ts";

export interface AdoptionFacts {
  /** Volumes that bear the name of a member of this cluster, and which no record has, by ordinal. */
  readonly volumes: readonly LeftVolume[];
  /** Voters that the data names and that have none, with what the API server itself said when it was asked for it. */
  readonly absent: readonly AbsentVolume[];
  /** PersistentVolumes that say they are of this cluster's name and that no claim here is bound to. */
  readonly released?: readonly ReleasedVolume[];
  /** Why it is not known which PersistentVolumes there are. */
  readonly unlisted?: { readonly why: string; readonly isDenied: boolean } | undefined;
  /** What a former life still has here, as `Pod default/demo-1`: nothing is taken before it is gone. */
  readonly remains: readonly string[];
  /** Every address that a member of an ordinal can have here: the data says which one it has. */
  readonly addresses: readonly { readonly ordinal: number; readonly address: MemberAddress }[];
  /** Why the volumes cannot be looked into here. */
  readonly refused?: string | undefined;
}

export interface LeftVolume {
  /** What people find it by, as `PersistentVolumeClaim data-demo-1`. */
  readonly object: string;
  /** The member that its name is of. */
  readonly member: string;
  readonly uid: string;
  /** Being deleted. */
  readonly ending?: boolean;
  /** What is written on it; nothing of it is believed before the data says the same. */
  readonly identity: VolumeIdentity;
  /** With medium HostPath. */
  readonly host?: HostPlace;
  /** Of its size and class, what is not as the spec asks for it. */
  readonly storage: { readonly size?: string; readonly className?: string };
  /** What its files say. Undefined of one whose identity is another already. */
  readonly directory?: MemberDirectory;
}

/** A directory of a node. */
export interface HostPlace {
  readonly node: string;
  /** Below `storage.hostPath`. */
  readonly path: string;
}

/** A PersistentVolume that outlived its claim, as it does where the whole namespace was deleted. */
export interface ReleasedVolume {
  readonly name: string;
  readonly uid: string;
  /** The member that its former claim was of. */
  readonly member: string;
  readonly identity: VolumeIdentity;
  /** Why it is not given a claim again. */
  readonly refused?: string | undefined;
}

export interface AbsentVolume {
  readonly member: string;
  /** What it would be called. */
  readonly object: string;
  /** Why it is not known whether it is there. */
  readonly unread?: string | undefined;
}

export interface VolumeIdentity {
  readonly clusterID?: string | undefined;
  readonly memberID?: string | undefined;
  readonly token?: string | undefined;
  /** The etcd version that last ran on it. */
  readonly version?: string | undefined;
}

/** What was found out before the first record was written; the records follow it, also after a crash. */
export interface AdoptionMark {
  readonly clusterID: string;
  readonly members: readonly AdoptedMember[];
}

export interface AdoptedMember {
  readonly name: string;
  readonly memberID: string;
  readonly peerURL: string;
  /** Absent for a member whose volume is not there. */
  readonly volumeUID?: string | undefined;
  readonly size?: string | undefined;
  readonly className?: string | undefined;
  readonly host?: HostPlace | undefined;
}

/** In the record of a member whose volume is not there: the UID of none, so that it has lost its data. */
export const NO_VOLUME = "none";
