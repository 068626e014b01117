/** What may be done for snapshots. Each effect names all that its executor needs, and may be repeated. */
import type { EtcdSnapshotStatus } from "../../api/etcd-snapshot.ts";
import type { SnapshotFacts, SnapshotTask } from "./facts.ts";

export type SnapshotEffect =
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
  /** Takes our finalizer off. */
  | { readonly kind: "ReleaseSnapshot"; readonly snapshot: SnapshotFacts };

/** By which a failure of an effect is remembered, and forgotten when another one is wanted. */
export function effectKey(effect: SnapshotEffect): string {
  const what = effect.kind === "StartJob" ? `${effect.task} ${effect.attempt}` : "";
  return `${effect.snapshot.uid} ${effect.kind} ${what}`;
}
