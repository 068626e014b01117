/** What an EtcdOperation asks for, as one value with its kind in it; and the facts that a platform gives of one. */
import type { EtcdOperation, EtcdOperationSpec } from "../../api/etcd-operation.ts";
import { OPERATIONS, type OperationName } from "../../api/status-words.ts";
import type { OperationFacts } from "../observation.ts";

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

export function taskOf(spec: EtcdOperationSpec): OperationTask {
  const given = OPERATIONS.filter((name) => spec[name] !== undefined);
  const [kind] = given;
  return kind === undefined || given.length > 1
    ? { kind: "unknown" }
    : ({ kind, ...spec[kind] } as OperationTask);
}

export function operationFacts({ metadata, spec, status }: EtcdOperation): OperationFacts {
  const { ttlSecondsAfterFinished } = spec;
  return {
    name: metadata.name,
    uid: metadata.uid ?? "",
    resourceVersion: metadata.resourceVersion ?? "",
    generation: metadata.generation ?? 1,
    createdAt: Date.parse(metadata.creationTimestamp ?? "") || 0,
    deleting: metadata.deletionTimestamp !== undefined,
    task: taskOf(spec),
    ...(ttlSecondsAfterFinished !== undefined && { ttlSecondsAfterFinished }),
    status: status ?? {},
  };
}

/** Those of one cluster in the order in which they run. Creation times have a resolution of seconds on Kubernetes. */
export function inOrderOfCreation(operations: readonly OperationFacts[]): OperationFacts[] {
  return operations.toSorted((a, b) => a.createdAt - b.createdAt || (a.name < b.name ? -1 : 1));
}
