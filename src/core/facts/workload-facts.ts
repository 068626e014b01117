/** Facts of an observation about what a platform keeps for a member: its volume and its workload (a Pod, a process). */
import type { RestoreFault } from "../../api/bootstrap.ts";

/** Where the data of a member on its way out is, and why it stays there. */
export interface DataLeft {
  readonly where: string;
  readonly why: string;
}

export interface Clearing {
  /** When this controller, or the one before it, began. */
  readonly since: number;
  readonly where: string;
  /** What keeps it from being over, if that is known. */
  readonly why?: string;
}

export type VolumeFacts =
  | { readonly state: "absent" }
  /**
   * Not yet, or not any more, to be used. `uid`: there is something to be deleted. `clearing`: its deletion was asked
   * for, and takes a while. `remains`: the platform cannot delete it, or could not.
   */
  | {
      readonly state: "pending";
      readonly reason: string;
      readonly uid?: string;
      readonly clearing?: Clearing;
      readonly remains?: DataLeft;
    }
  | {
      readonly state: "ready";
      readonly uid: string;
      /** It is smaller than its record asks for and cannot grow, and why: another one has to take its place. */
      readonly tooSmall?: string;
    }
  /** The volume exists but cannot be reached any more (its node or disk is gone). */
  | { readonly state: "unreachable"; readonly uid: string; readonly reason: string };

/** Why a member's process ended, as etcd's log told it. */
export type ExitCause =
  /** An empty directory where the record says joined (H3): found by the local platform, or by etcd at its start. */
  | "data-missing"
  /** The data directory cannot be read or fails etcd's checks. */
  | "data-corrupt"
  /** etcd's check at the start found another hash at some peer: one of the two is corrupt, nobody knows which (R33). */
  | "data-differs"
  /** etcd says that this member was removed from its cluster (R8). */
  | "removed"
  /** The joiner's list does not match the member list any more (H7). */
  | "member-list-mismatch"
  /** A founder met a cluster that exists already (H2). */
  | "already-bootstrapped"
  /** The data was written by a newer minor (R13). */
  | "data-newer"
  /** A flag or its value is not understood: the template is wrong, not the member. */
  | "bad-configuration"
  /** The disk is full. */
  | "disk-full"
  /** Its address is taken by another process. */
  | "address-in-use"
  /** It starts from a snapshot, which could not be restored: etcd was not started. */
  | "restore-failed"
  /** Ended by a signal from outside, or by us. */
  | "killed"
  | "unknown";

/** Why a member has no workload although it should: we could not make it, which says nothing about the member (H16). */
export interface NotMade {
  readonly reason:
    | "PodRefused"
    | "ObjectRefused"
    | "AuthorityMissing"
    | "CertificateNotIssued"
    | "CertificateNotGiven"
    | "NameClash";
  /** What was tried, and who or what is against it. */
  readonly message: string;
}

/** `since`: the controller has seen it so, by its own clock, which a node's need not agree with. */
export type WorkloadFacts =
  | { readonly state: "absent"; readonly notMade?: NotMade }
  /** Cannot start yet: unschedulable, image missing, volume not bound. */
  | {
      readonly state: "waiting";
      readonly reason: string;
      /** No node takes it. */
      readonly unschedulable?: boolean;
      /** Its image cannot be had, or cannot be run: its template is wrong, not the member. */
      readonly badImage?: boolean;
      /** It is being restored from a snapshot, and `reason` says how far that is. */
      readonly restoring?: boolean;
      readonly since: number;
      readonly startedFrom?: string;
    }
  | {
      readonly state: "running";
      readonly since: number;
      readonly startedFrom: string;
      readonly restarts: number;
      /** How the run before this one ended; undefined for the first. */
      readonly lastEnd?: { readonly cause: ExitCause; readonly detail: string };
      /** The platform can give it other resources while it runs. */
      readonly resizable?: boolean;
      /**
       * What a readiness probe beside it says, asked from elsewhere than here: of a voter, that it serves linearizable
       * reads. A joiner is not ready before it votes (R36). Undefined where the platform has no such probe.
       */
      readonly ready?: boolean;
      /** Its node does not report, or is gone: nobody there says whether it still runs. */
      readonly lostNode?: string;
    }
  | {
      readonly state: "exited";
      readonly since: number;
      readonly startedFrom: string;
      readonly restarts: number;
      readonly cause: ExitCause;
      readonly detail: string;
      /** With `restore-failed`: what is at fault, where that is known. */
      readonly restore?: RestoreFault;
      /** Nobody starts it again (an evicted Pod): it has to be taken away and made anew. */
      readonly ended?: boolean;
    }
  /** Being stopped. `lostNode` names a node that will never confirm it. */
  | {
      readonly state: "stopping";
      readonly since: number;
      readonly startedFrom?: string;
      /** The time that it was given is over, and nobody has confirmed that it ended. */
      readonly overdue?: boolean;
      readonly lostNode?: string;
    };

/**
 * The node that a workload is on, where it is known whether its kubelet reports. None is given of a node that was deleted
 * or declared out of service: Kubernetes itself ends what is there.
 */
export type MemberNode =
  | { readonly name: string; readonly kubelet: "reports" }
  /** `since` is a time of the server's clock. */
  | { readonly name: string; readonly kubelet: "silent"; readonly since: number };
