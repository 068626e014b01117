/**
 * EtcdOperation → the facts that core decides on, and to which cluster one is bound. A name proves nothing (I9): the first
 * status that a cluster's worker writes binds an operation to that very cluster, so that a later cluster of the same name
 * does not carry out what was asked of an earlier one, and the operation is deleted with its cluster.
 */
import { etcdOperationSchema, type EtcdOperation } from "../../api/etcd-operation.ts";
import { API_VERSION } from "../../api/metadata.ts";
import { resourceParser } from "../../api/parse-resource.ts";
import type { ApiError } from "../../api/validate.ts";
import type { ClusterFacts, OperationFacts } from "../../core/observation.ts";
import { inOrderOfCreation, operationFacts } from "../../core/operations/task.ts";
import { LABELS } from "../names.ts";
import { etcdClusters } from "../resources.ts";

export type ReadOperation = { ok: true; facts: OperationFacts } | { ok: false; errors: ApiError[] };

const parse = resourceParser("EtcdOperation", etcdOperationSchema);

/** Cached objects are frozen and live long: passes over an unchanged one share its facts. */
const known = new WeakMap<EtcdOperation, ReadOperation>();

/** Parsed again although the API server has checked it: its definition may be another release's. */
export function readOperation(object: EtcdOperation): ReadOperation {
  let read = known.get(object);
  if (read === undefined) {
    const parsed = parse(object);
    read = parsed.ok
      ? { ok: true, facts: operationFacts({ ...object, spec: parsed.value.spec }) }
      : { ok: false, errors: parsed.errors };
    if (Object.isFrozen(object)) known.set(object, read);
  }
  return read;
}

/** The UID of the cluster that it is bound to; undefined before anybody has acted on it. */
export function boundTo({ metadata }: EtcdOperation): string | undefined {
  return metadata.ownerReferences?.find(({ kind }) => kind === etcdClusters.kind)?.uid;
}

/** Of this very cluster, or of none so far. One that has started without a cluster has lost its owner. */
export function isOpenTo(clusterUID: string | undefined, operation: EtcdOperation): boolean {
  const uid = boundTo(operation);
  return uid === undefined ? operation.status?.startedAt === undefined : uid === clusterUID;
}

/** Those of a cluster that can be understood, in the order in which they run. */
export function operationsFor(clusterUID: string, objects: readonly EtcdOperation[]): OperationFacts[] {
  const read = objects.filter((object) => isOpenTo(clusterUID, object)).map(readOperation);
  return inOrderOfCreation(read.flatMap((one) => (one.ok ? [one.facts] : [])));
}

/** The metadata that binds it; undefined when it is bound already. */
export function binding(
  { name, uid }: Pick<ClusterFacts, "name" | "uid">,
  operation: EtcdOperation,
): object | undefined {
  if (boundTo(operation) === uid) return undefined;
  const owner = { apiVersion: API_VERSION, kind: etcdClusters.kind, name, uid };
  return {
    labels: { [LABELS.cluster]: name },
    ownerReferences: [...(operation.metadata.ownerReferences ?? []), owner],
  };
}
