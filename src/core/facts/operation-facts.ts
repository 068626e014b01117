/** Facts of an observation about one EtcdOperation: what it asks for, as one value with its kind in it, and how far it is. */
import type { EtcdOperationSpec, EtcdOperationStatus } from "../../api/etcd-operation.ts";
import type { OperationName } from "../../api/status-words.ts";

type Given<Name extends OperationName> = Readonly<NonNullable<EtcdOperationSpec[Name]>>;
/** A task without parameters is given as an empty object. */
type Named<Name extends OperationName> = { readonly kind: Name } & (Name extends "collectReport"
  ? unknown
  : Given<Name>);

export type OperationTask =
  | { [Name in OperationName]: Named<Name> }[OperationName]
  /** Written for a newer release, perhaps: none of the fields that we know is set, or several are. */
  | { readonly kind: "unknown" };

export type TaskOf<Name extends OperationName> = Extract<OperationTask, { kind: Name }>;

/** A restore, without its approval. */
export type Instead = Omit<TaskOf<"restore">, "kind" | "approve">;

/** One EtcdOperation; made from the object by `operationFacts`. */
export interface OperationFacts {
  readonly name: string;
  readonly uid: string;
  /** Opaque; every write of its status carries it as a precondition (H10). */
  readonly resourceVersion: string;
  readonly generation: number;
  /** By the clock of who stored it: it orders operations, and nothing else. */
  readonly createdAt: number;
  /** Deleted, and kept by somebody's finalizer: no further step is taken. */
  readonly deleting: boolean;
  readonly task: OperationTask;
  readonly ttlSecondsAfterFinished?: number;
  /** How often its step failed in a row, as far as this controller knows: losing it costs attempts, never safety. */
  readonly failures?: { readonly count: number; readonly error: string };
  /** Its status could not be written several times in a row, last at this time: the cluster does not wait for it. */
  readonly unrecorded?: { readonly at: number; readonly error: string };
  /** Since when it has been seen to be finished, for a time in its status that cannot be right. */
  readonly finishedSince?: number;
  /** The record of what was done so far. Unlike other status it is read back: nothing else holds it. Its times are the server's. */
  readonly status: EtcdOperationStatus;
}
