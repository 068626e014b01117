/** What may be done for snapshots. Each effect names all that its executor needs, and may be repeated. */
import type { EtcdSnapshotStatus } from "../../api/etcd-snapshot.ts";
import type { EtcdSnapshotScheduleStatus } from "../../api/etcd-snapshot-schedule.ts";
import type { WantedPoint } from "../assess/restore-point.ts";
import type { ScheduleFacts, SnapshotFacts, SnapshotTask } from "./facts.ts";
import type { ClusterLife } from "./life.ts";

export type SnapshotEffect =
  | ScheduleEffect
  | {
      readonly kind: "UpdateSnapshot";
      readonly snapshot: SnapshotFacts;
      readonly status: EtcdSnapshotStatus;
    }
  /** Made under a name that follows from the snapshot's UID, so that there is never a second one. */
  | {
      readonly kind: "StartJob";
      readonly snapshot: SnapshotFacts;
      readonly task: SnapshotTask;
      readonly attempt: number;
      /** Client URLs of the members that may send it, best first; empty for a deletion. */
      readonly endpoints: readonly string[];
      /** The life of the cluster that they are of, which etcd itself does not tell. */
      readonly life?: ClusterLife;
      /** A verification will compare the hash of the keys, for which the member reads all of its data once more. */
      readonly hashKv?: boolean;
      /** For a point in time: the etcd that changes are replayed with. */
      readonly etcdVersion?: string;
      /** For a point in time: bytes of the largest snapshot that is known, for its scratch etcd to find room. */
      readonly size?: number;
    }
  /** Its Pods are stopped with it. */
  | {
      readonly kind: "DeleteJob";
      readonly snapshot: SnapshotFacts;
      readonly job: string;
      readonly uid: string;
    }
  /** Puts our finalizer on it, before anything is in the store. */
  | { readonly kind: "HoldSnapshot"; readonly snapshot: SnapshotFacts }
  /** Deletes the EtcdSnapshot of one that failed, and nothing in the store: there is nothing whole of it. */
  | { readonly kind: "ForgetSnapshot"; readonly snapshot: SnapshotFacts }
  /** Takes our finalizer off. */
  | { readonly kind: "ReleaseSnapshot"; readonly snapshot: SnapshotFacts };

/** What a schedule asks for. */
type ScheduleEffect =
  /** Made under a name that follows from the time, so that there is never a second one for it. */
  | {
      readonly kind: "CreateSnapshot";
      readonly schedule: ScheduleFacts;
      readonly at: number;
      /** For the follower to begin with, beside the schedule's own times. */
      readonly base?: boolean;
    }
  /** Before members move to another minor version; the name follows from that version and the hour. */
  | {
      readonly kind: "CreateSnapshotBefore";
      readonly schedule: ScheduleFacts;
      readonly name: string;
      readonly minor: string;
    }
  /** For a restore to a point in time, whose it is; it goes with its object in the store. */
  | { readonly kind: "CreatePoint"; readonly point: WantedPoint }
  | {
      readonly kind: "UpdateSchedule";
      readonly schedule: ScheduleFacts;
      readonly status: EtcdSnapshotScheduleStatus;
    }
  /** Made under a name that follows from the schedule's UID and the attempt; it runs until it is stopped. */
  | {
      readonly kind: "StartFollower";
      readonly schedule: ScheduleFacts;
      readonly attempt: number;
      /** Kept with it. */
      readonly recipe: string;
      /** Client URLs of the members. */
      readonly endpoints: readonly string[];
    }
  | {
      readonly kind: "StopFollower";
      readonly schedule: ScheduleFacts;
      readonly follower: string;
      readonly uid: string;
    }
  /** Sets the annotation that asks for a verification of it. */
  | { readonly kind: "RequestVerification"; readonly snapshot: SnapshotFacts; readonly request: string }
  /** Deletes it with its object in the store: first its policy and the finalizer, then the EtcdSnapshot. */
  | {
      readonly kind: "PruneSnapshot";
      readonly snapshot: SnapshotFacts;
      /** A good one that has to be there still when the other one goes; undefined where there is none. */
      readonly keeping: SnapshotFacts | undefined;
    };

/** By which a failure of an effect is remembered, and forgotten when another one is wanted. */
export function effectKey(effect: SnapshotEffect): string {
  const what =
    effect.kind === "StartJob"
      ? `${effect.task} ${effect.attempt}`
      : effect.kind === "StopFollower"
        ? effect.uid
        : "";
  return `${subjectOf(effect)} ${effect.kind} ${what}`;
}

function subjectOf(effect: SnapshotEffect): string {
  if (effect.kind === "CreatePoint") return effect.point.owner.uid;
  return ("snapshot" in effect ? effect.snapshot : effect.schedule).uid;
}
