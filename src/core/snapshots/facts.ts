/**
 * What was seen of EtcdSnapshots and of the Jobs that work for them: facts only, as plain data. They are decided on
 * beside the steps of the cluster, since a snapshot changes nothing in it.
 */
import type { RestoreSource } from "../../api/bootstrap.ts";
import type {
  EtcdSnapshotScheduleSpec,
  EtcdSnapshotScheduleStatus,
} from "../../api/etcd-snapshot-schedule.ts";
import type { EtcdSnapshotSpec, EtcdSnapshotStatus } from "../../api/etcd-snapshot.ts";
import type { FollowerFacts } from "./follower-facts.ts";

/** What a Job does for a snapshot: write it to its store, verify it, or delete it there. */
export type SnapshotTask = "save" | "verify" | "delete";

/** What a verification found. */
export interface VerifiedFacts {
  /** From the first byte read to an etcd that answered. */
  readonly rtoMs: number;
  readonly revision: number;
  readonly totalKeys: number;
  readonly hashCompared: boolean;
}

/** What is known of a snapshot that was taken. */
export type TakenFacts = Pick<
  EtcdSnapshotStatus,
  | "uri"
  | "size"
  | "storedSize"
  | "sha256"
  | "revision"
  | "totalKeys"
  | "etcdVersion"
  | "clusterID"
  | "takenFrom"
>;

/** How much of a snapshot was read or sent, in bytes. */
export interface Transfer {
  readonly done: number;
  readonly of?: number;
}

export type JobState =
  /** `why`: what its Pod waits for, if anything. */
  | { readonly is: "waiting"; readonly why?: string }
  | { readonly is: "running"; readonly pod: string; readonly transfer?: Transfer }
  /** `taken`, or `verified`, is absent where what it wrote at its end cannot be read (any more). */
  | {
      readonly is: "succeeded";
      readonly agoMs: number;
      readonly taken?: TakenFacts;
      readonly verified?: VerifiedFacts;
    }
  /** `reported`: by itself, at its end. Otherwise the words are Kubernetes', and its own may still come. */
  | {
      readonly is: "failed";
      readonly agoMs: number;
      readonly reason: string;
      readonly message: string;
      readonly reported: boolean;
    };

export interface JobFacts {
  readonly name: string;
  readonly uid: string;
  readonly task: SnapshotTask;
  /** From 1 on. */
  readonly attempt: number;
  readonly deleting: boolean;
  readonly state: JobState;
}

/** One EtcdSnapshot. */
export interface SnapshotFacts {
  readonly name: string;
  readonly uid: string;
  /** Opaque; every write of it carries it as a precondition (H10). */
  readonly resourceVersion: string;
  readonly generation: number;
  /** By the clock of who stored it: it orders snapshots. */
  readonly createdAt: number;
  readonly deleting: boolean;
  /** Our finalizer is on it: its object in the store is ours to delete first. */
  readonly held: boolean;
  readonly spec: EtcdSnapshotSpec;
  readonly status: EtcdSnapshotStatus;
  /** The annotation that asks for a verification: once for each value. */
  readonly verifyRequest?: string;
  /** The minor version of etcd before whose rollout it was taken. */
  readonly before?: string;
  /** The UID of the EtcdSnapshotSchedule that made it; absent for one that a person made. */
  readonly schedule?: string;
  /** The UID of the EtcdCluster or EtcdOperation that restores it; only of a point in time that was built for it. */
  readonly restores?: string;
  /** Where it is, as a restore names it. */
  readonly source?: RestoreSource;
  /** Those that were made for it. */
  readonly jobs: readonly JobFacts[];
  /** Why this release does not understand it; then it is rejected. */
  readonly invalid?: string;
  /** Why the platform cannot use its destination; then it is rejected. */
  readonly unsupported?: string;
  /** What the last effect for it failed with, as far as this controller knows: losing it costs words, never safety. */
  readonly failure?: string;
}

/** One EtcdSnapshotSchedule. */
export interface ScheduleFacts {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation: number;
  readonly createdAt: number;
  readonly deleting: boolean;
  readonly spec: EtcdSnapshotScheduleSpec;
  readonly status: EtcdSnapshotScheduleStatus;
  /** Why this release does not understand it. */
  readonly invalid?: string;
  /** Why its last snapshot could not be created, as far as this controller knows: losing it costs words. */
  readonly failure?: string;
  /** What records changes for it. */
  readonly followers?: readonly FollowerFacts[];
  /** Why the last one could not be made, as far as this controller knows. */
  readonly followerFailure?: string;
}

/** One of which even the spec cannot be read: the file of a local cluster is damaged. */
export interface UnreadableSchedule {
  readonly name: string;
  readonly why: string;
}

/** The snapshots and schedules that name a cluster. */
export interface SnapshotState {
  /** In the order of their creation. */
  readonly snapshots: readonly SnapshotFacts[];
  readonly schedules?: readonly ScheduleFacts[];
  /** Why the snapshot of a point in time could not be created, by the UID of whatever it is for. */
  readonly pointFailures?: Readonly<Record<string, string>>;
  /** Schedules that are there and of which nothing else is known. */
  readonly unreadable?: readonly UnreadableSchedule[];
  /** Why none can be begun now. */
  readonly blocked?: Blocked;
  /** What the platform starts a follower with, such as its image: with something else there is another one. */
  readonly followsWith?: string;
  /** On one machine a process of ours does what a Job does on Kubernetes. */
  readonly by?: "process";
}

export interface Blocked {
  readonly reason: "ImageUnknown" | "CertificatePending" | "AuthNeedsCertificate" | "NoMember";
  readonly message: string;
}

/** Creation times have a resolution of seconds on Kubernetes. */
export function inOrderOfCreation(snapshots: readonly SnapshotFacts[]): SnapshotFacts[] {
  return snapshots.toSorted((a, b) => a.createdAt - b.createdAt || (a.name < b.name ? -1 : 1));
}
