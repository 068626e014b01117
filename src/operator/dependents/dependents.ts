/**
 * Objects that name a cluster which cannot act on them: it does not exist, its spec is invalid and it has no members, or
 * it was another cluster of that name; and objects that this release does not understand. It is reported in the status
 * of each, never only in the log. What a cluster can act on is the business of its worker.
 */
import type { EtcdOperation } from "../../api/etcd-operation.ts";
import { operationReport } from "../../core/messages/operation-reports.ts";
import { operationFacts } from "../../core/operations/task.ts";
import {
  FINAL,
  isFinished,
  isReported,
  statusAfter,
  type OperationVerdict,
} from "../../core/operations/status.ts";
import { timestamp } from "../../core/status/condition.ts";
import { isReason } from "../../kube/errors.ts";
import { textOf } from "../../kube/log.ts";
import { keyOf, refOf } from "../../kube/resources.ts";
import { reportAuthObject } from "./auth-dependents.ts";
import { reportOperation } from "../apply/execute.ts";
import { findOne } from "../apply/keep.ts";
import type { DependentOptions, NamedCluster } from "./named-cluster.ts";
import { textOf as textOfErrors } from "../records/cluster-object.ts";
import { boundTo, isOpenTo, readOperation } from "../records/operation-object.ts";
import { etcdClusters, etcdOperations } from "../resources.ts";
import { SnapshotDependents } from "./snapshot-dependents.ts";
import { clusterFields } from "../status/cluster-log.ts";

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
  /** Those that say that they finish in the future: when that was first seen. Cached objects are replaced, never changed. */
  readonly #seenAt = new WeakMap<EtcdOperation, number>();

  constructor(options: DependentOptions) {
    this.#options = options;
    this.#snapshots = new SnapshotDependents(options);
  }

  /** Nothing is thrown: the cluster is not to wait for them. With a time when there is more to tell. */
  async report(key: string, cluster: NamedCluster): Promise<{ readonly againMs: number } | undefined> {
    const { stores, log } = this.#options;
    const waits: number[] = [];
    for (const operation of stores.operationsOf(key)) {
      if (operation.metadata.deletionTimestamp !== undefined) continue;
      try {
        waits.push(...(await this.#report(operation, cluster)));
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
        await reportAuthObject(this.#options.client, this.#options.clock, object, cluster);
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
  async #report(operation: EtcdOperation, cluster: NamedCluster): Promise<number[]> {
    const { client, skew } = this.#options;
    const facts = operationFacts(operation);
    if (isFinished(facts)) return await this.#expire(operation, cluster);
    const age = skew.serverNow() - facts.createdAt;
    const verdict = verdictOn(operation, cluster, age);
    if (!verdict) return [];
    const isKnown = isReported(operation.status, verdict);
    // A cache that is behind must not end an operation for good.
    if (!isKnown && FINAL.has(verdict.phase) && (await this.#exists(operation))) return [AGAIN_MS];
    if (!isKnown) await reportOperation(client, operation, statusAfter(facts, verdict, skew.serverNow()));
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
    const { client, clock, skew } = this.#options;
    const { ttlSecondsAfterFinished: ttl } = operation.spec;
    const finishedAt = Date.parse(operation.status?.completedAt ?? "");
    const isWorkers =
      cluster.is === "present" && isOpenTo(cluster.uid, operation) && readOperation(operation).ok;
    if (isWorkers || ttl === undefined || Number.isNaN(finishedAt)) return [];
    const ageMs = skew.serverNow() - finishedAt;
    // A time to come is of a clock that was wrong: it counts from when it was first seen.
    if (ageMs < 0 && !this.#seenAt.has(operation)) this.#seenAt.set(operation, clock.monotonic());
    const seenAt = this.#seenAt.get(operation);
    const leftMs = ttl * 1000 - (seenAt === undefined ? ageMs : clock.monotonic() - seenAt);
    if (leftMs > 0) return [leftMs];
    const { uid = "" } = operation.metadata;
    await client.delete(etcdOperations, refOf(keyOf(operation)), { uid });
    return [];
  }
}

/** What to report to an operation that has not finished; undefined for one that is its cluster's worker's business. */
export function verdictOn(
  operation: EtcdOperation,
  cluster: NamedCluster,
  ageMs: number,
): OperationVerdict | undefined {
  const { cluster: name } = operation.spec;
  const { namespace = "", creationTimestamp = "" } = operation.metadata;
  const of = { cluster: name, namespace };
  const uid = cluster.is === "absent" ? undefined : cluster.uid;
  const hasStarted = operation.status?.startedAt !== undefined;
  if (!isOpenTo(uid, operation)) {
    // The garbage collector deletes it with its cluster; should somebody keep it from that, it ends here.
    const lost = boundTo(operation) === undefined;
    const phase = hasStarted ? "Failed" : "Rejected";
    return { phase, ...operationReport(lost ? "ClusterForgotten" : "ClusterGone", of) };
  }
  const read = readOperation(operation);
  if (!read.ok)
    return { phase: "Rejected", ...operationReport("NotUnderstood", { errors: textOfErrors(read.errors) }) };
  if (cluster.is === "present") return undefined;
  if (cluster.is === "invalid")
    return {
      phase: hasStarted ? "Running" : "Pending",
      ...operationReport("ClusterInvalid", { cluster: name, why: cluster.why }),
    };
  if (ageMs < AWAIT_CLUSTER_MS) {
    const until = timestamp(Date.parse(creationTimestamp) + AWAIT_CLUSTER_MS);
    return { phase: "Pending", ...operationReport("ClusterAwaited", { ...of, until }) };
  }
  return { phase: "Rejected", ...operationReport("ClusterNotFound", of) };
}
