/** An EtcdOperation as it was written, made the facts of an observation. */
import type { EtcdOperation, EtcdOperationSpec } from "../../api/etcd-operation.ts";
import { OPERATIONS } from "../../api/status-words.ts";
import type { OperationFacts, OperationTask } from "../facts/operation-facts.ts";

export type { OperationTask, TaskOf } from "../facts/operation-facts.ts";

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
