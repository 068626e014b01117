/** What is reported of operations that do not act now, each with its reason; why a step is kept back has its own words. */
import type { OperationReason } from "./operation-reasons.ts";
import type { HoldReason } from "./reasons.ts";
import { rowsFor, verdictsOf } from "./verdict.ts";

interface OfCluster {
  readonly cluster: string;
}
interface InNamespace extends OfCluster {
  readonly namespace: string;
}

const CLUSTER: OfCluster = { cluster: "demo" };
const row = rowsFor<OperationReason | HoldReason>();
const NOT_KEPT =
  "and an approval to replace all data is not kept for later: create the operation again afterwards";

export const OPERATION_REPORTS = {
  ClusterIsDeleted: row("ClusterDeleted", {
    say: ({ cluster }: OfCluster) => `the cluster ${cluster} is being deleted`,
    example: CLUSTER,
  }),
  ReportCollected: row("Completed", {
    say: () => "collected the report in status.report",
    example: {},
  }),
  ClusterIsPaused: row("Paused", { say: () => `the cluster is paused, ${NOT_KEPT}`, example: {} }),
  ClusterIsHibernated: row("Hibernated", {
    say: () => `the cluster is hibernated, ${NOT_KEPT}`,
    example: {},
  }),
  AwaitsOther: row("Queued", {
    say: ({ operation }: { operation: string }) => `waiting for operation ${operation} to finish`,
    example: { operation: "tidy-up" },
  }),
  ClusterGone: row("ClusterDeleted", {
    say: ({ cluster }: OfCluster) => `the EtcdCluster ${cluster} that it was created for was deleted`,
    example: CLUSTER,
  }),
  ClusterForgotten: row("ClusterDeleted", {
    say: ({ cluster }: OfCluster) =>
      `the owner reference to EtcdCluster ${cluster} was removed, so the cluster that it started on is unknown; create another operation`,
    example: CLUSTER,
  }),
  NotUnderstood: row("UnknownOperation", {
    say: ({ errors }: { errors: string }) =>
      `this release does not understand the operation (${errors}); upgrade the operator, or create another operation`,
    example: { errors: "spec.restart: unknown field" },
  }),
  ClusterInvalid: row("ClusterInvalid", {
    say: ({ cluster, why }: OfCluster & { why: string }) =>
      `EtcdCluster ${cluster} is invalid (${why}); the operation continues once it is corrected`,
    example: { ...CLUSTER, why: "spec.version: 3.4.0 is not supported" },
  }),
  ClusterAwaited: row("ClusterNotFound", {
    say: ({ cluster, namespace, until }: InNamespace & { until: string }) =>
      `EtcdCluster ${cluster} does not exist in namespace ${namespace}; the operation runs if it is created by ${until}, and is rejected otherwise`,
    example: { ...CLUSTER, namespace: "default", until: "2026-11-16T13:10:00Z" },
  }),
  ClusterNotFound: row("ClusterNotFound", {
    say: ({ cluster, namespace }: InNamespace) =>
      `EtcdCluster ${cluster} does not exist in namespace ${namespace}; create the operation again once it does`,
    example: { ...CLUSTER, namespace: "default" },
  }),
  AwaitsStep: row("Queued", { say: () => "waiting for the step under way", example: {} }),
} as const;

export const operationReport = verdictsOf(OPERATION_REPORTS);

/** In a report that would not have fitted. */
export const REPORT_CUT = "the members were left out: the report was too long";
