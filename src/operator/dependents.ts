/**
 * Objects that name a cluster which cannot act on them: it does not exist, its spec is invalid and it has no members, or
 * it was another cluster of that name; and objects that this release does not understand. Each is told in its own status
 * and never only in the log. What a cluster can act on is the business of its worker.
 */
import type { EtcdOperation } from "../api/etcd-operation.ts";
import { operationFacts } from "../core/operations/task.ts";
import { FINAL, isFinished, isTold, statusAfter, type OperationVerdict } from "../core/operations/status.ts";
import { timestamp } from "../core/status/condition.ts";
import type { KubeClient } from "../kube/client.ts";
import { isReason } from "../kube/errors.ts";
import { textOf, type Log } from "../kube/log.ts";
import { keyOf, refOf } from "../kube/resources.ts";
import type { Clock } from "../seams/clock.ts";
import { tellAuthObject } from "./auth-dependents.ts";
import { reportOperation } from "./apply/execute.ts";
import { findOne } from "./apply/keep.ts";
import type { Stores } from "./cache/stores.ts";
import type { ClockSkew } from "./observe/clock-skew.ts";
import { textOf as textOfErrors } from "./records/cluster-object.ts";
import { boundTo, isOpenTo, readOperation } from "./records/operation-object.ts";
import { etcdClusters, etcdOperations } from "./resources.ts";
import { SnapshotDependents } from "./snapshot-dependents.ts";
import { clusterFields } from "./status/cluster-log.ts";

export interface DependentOptions {
  readonly client: KubeClient;
  readonly stores: Pick<
    Stores,
    "operationsOf" | "snapshotsOf" | "snapshot" | "schedule" | "usersOf" | "rolesOf"
  >;
  readonly clock: Clock;
  readonly skew: Pick<ClockSkew, "serverNow">;
  readonly log: Log;
  /** Our own, which Jobs run; undefined where nobody told us. */
  readonly image?: string | undefined;
}

/** The cluster that a dependent names. */
export type NamedCluster =
  | { readonly is: "absent" }
  /** Its worker acts on what it understands. */
  | { readonly is: "present"; readonly uid: string }
  /** Nothing can be done for it before somebody corrects it. */
  | { readonly is: "invalid"; readonly uid: string; readonly why: string };

/**
 * An operation may be applied in one go with its cluster, in any order. One that is left over for longer is not what
 * anybody expects to run the day when a cluster of that name is made.
 */
export const AWAIT_CLUSTER_MS = 10 * 60_000;
/** What could not be written. */
const AGAIN_MS = 10_000;
/** A timer holds no more than 24 days. */
const LONGEST_MS = 3_600_000;

export class Dependents {
  readonly #options: DependentOptions;
  readonly #snapshots: SnapshotDependents;

  constructor(options: DependentOptions) {
    this.#options = options;
    this.#snapshots = new SnapshotDependents(options);
  }

  /** Nothing is thrown: the cluster is not to wait for them. With a time when there is more to tell. */
  async tell(key: string, cluster: NamedCluster): Promise<{ readonly againMs: number } | undefined> {
    const { stores, log } = this.#options;
    const waits: number[] = [];
    for (const operation of stores.operationsOf(key)) {
      if (operation.metadata.deletionTimestamp !== undefined) continue;
      try {
        waits.push(...(await this.#tell(operation, cluster)));
      } catch (error) {
        waits.push(AGAIN_MS);
        // Changed or deleted meanwhile: that wakes us.
        if (!isReason(error, "Conflict", "NotFound"))
          log("warn", `could not report on EtcdOperation ${keyOf(operation)}: ${textOf(error)}`, {
            ...clusterFields(key),
            error,
          });
      }
    }
    waits.push((await this.#snapshots.keep(key, cluster)) ?? Infinity);
    for (const object of [...stores.usersOf(key), ...stores.rolesOf(key)]) {
      try {
        await tellAuthObject(this.#options.client, this.#options.clock, object, cluster);
      } catch (error) {
        waits.push(AGAIN_MS);
        if (!isReason(error, "Conflict", "NotFound"))
          log("warn", `could not report on ${object.kind} ${keyOf(object)}: ${textOf(error)}`, {
            ...clusterFields(key),
            error,
          });
      }
    }
    const againMs = Math.max(0, Math.min(Infinity, ...waits));
    return Number.isFinite(againMs) ? { againMs: Math.min(againMs, LONGEST_MS) } : undefined;
  }

  /** With the times in milliseconds after which there is more to do. */
  async #tell(operation: EtcdOperation, cluster: NamedCluster): Promise<number[]> {
    const { client, clock, skew } = this.#options;
    const facts = operationFacts(operation);
    if (isFinished(facts)) return await this.#expire(operation, cluster);
    const age = skew.serverNow() - facts.createdAt;
    const verdict = verdictOn(operation, cluster, age);
    if (!verdict) return [];
    const told = isTold(operation.status, verdict);
    // A cache that is behind must not end an operation for good.
    if (!told && FINAL.has(verdict.phase) && (await this.#exists(operation))) return [AGAIN_MS];
    if (!told) await reportOperation(client, operation, statusAfter(facts, verdict, clock.now()));
    if (FINAL.has(verdict.phase)) return [(operation.spec.ttlSecondsAfterFinished ?? Infinity) * 1000];
    return verdict.reason === "ClusterNotFound" ? [AWAIT_CLUSTER_MS - age] : [];
  }

  /** The cluster that it is about, or one that it could be about, as the API server itself says. */
  async #exists(operation: EtcdOperation): Promise<boolean> {
    if (!readOperation(operation).ok) return false;
    const ref = { ...refOf(keyOf(operation)), name: operation.spec.cluster };
    const found = await findOne(this.#options.client, etcdClusters, ref);
    return found !== undefined && isOpenTo(found.metadata.uid, operation);
  }

  /** The worker of a cluster sees to those that it knows of. */
  async #expire(operation: EtcdOperation, cluster: NamedCluster): Promise<number[]> {
    const { client, clock } = this.#options;
    const { ttlSecondsAfterFinished: ttl } = operation.spec;
    const finishedAt = Date.parse(operation.status?.completedAt ?? "");
    const isWorkers =
      cluster.is === "present" && isOpenTo(cluster.uid, operation) && readOperation(operation).ok;
    if (isWorkers || ttl === undefined || Number.isNaN(finishedAt)) return [];
    const leftMs = finishedAt + ttl * 1000 - clock.now();
    if (leftMs > 0) return [leftMs];
    const { uid = "" } = operation.metadata;
    await client.delete(etcdOperations, refOf(keyOf(operation)), { uid });
    return [];
  }
}

/** What to tell an operation that has not finished; undefined for one that the worker of its cluster tells. */
export function verdictOn(
  operation: EtcdOperation,
  cluster: NamedCluster,
  ageMs: number,
): OperationVerdict | undefined {
  const { name, namespace } = { name: operation.spec.cluster, namespace: operation.metadata.namespace };
  const uid = cluster.is === "absent" ? undefined : cluster.uid;
  const hasStarted = operation.status?.startedAt !== undefined;
  if (!isOpenTo(uid, operation)) {
    // The garbage collector deletes it with its cluster; should somebody keep it from that, it ends here.
    const lost = boundTo(operation) === undefined;
    return {
      phase: hasStarted ? "Failed" : "Rejected",
      reason: "ClusterDeleted",
      message: lost
        ? `the owner reference to EtcdCluster ${name} was removed, so the cluster that it started on is unknown; create another operation`
        : `the EtcdCluster ${name} that it was created for was deleted`,
    };
  }
  const read = readOperation(operation);
  if (!read.ok)
    return {
      phase: "Rejected",
      reason: "UnknownOperation",
      message: `this release does not understand the operation (${textOfErrors(read.errors)}); upgrade the operator, or create another operation`,
    };
  if (cluster.is === "present") return undefined;
  if (cluster.is === "invalid")
    return {
      phase: hasStarted ? "Running" : "Pending",
      reason: "ClusterInvalid",
      message: `EtcdCluster ${name} is invalid (${cluster.why}); the operation continues once it is corrected`,
    };
  if (ageMs < AWAIT_CLUSTER_MS) {
    const until = timestamp(Date.parse(operation.metadata.creationTimestamp ?? "") + AWAIT_CLUSTER_MS);
    return {
      phase: "Pending",
      reason: "ClusterNotFound",
      message: `EtcdCluster ${name} does not exist in namespace ${namespace}; the operation runs if it is created by ${until}, and is rejected otherwise`,
    };
  }
  return {
    phase: "Rejected",
    reason: "ClusterNotFound",
    message: `EtcdCluster ${name} does not exist in namespace ${namespace}; create the operation again once it does`,
  };
}
