/** What is reported of operations that do not act now, each with its reason; why a step is kept back has its own words. */
import type { OperationReason } from "./operation-reasons.ts";
import type { HoldReason } from "./reasons.ts";
import { rowsFor, verdictsOf } from "./verdict.ts";

const row = rowsFor<OperationReason | HoldReason>();
const NOT_KEPT =
  "and an approval to replace all data is not kept for later: create the operation again afterwards";

export const OPERATION_REPORTS = {
  ClusterIsDeleted: row("ClusterDeleted", {
    say: ({ cluster }: { cluster: string }) => `the cluster ${cluster} is being deleted`,
    example: { cluster: "demo" },
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
  AwaitsStep: row("Queued", { say: () => "waiting for the step under way", example: {} }),
} as const;

export const operationReport = verdictsOf(OPERATION_REPORTS);

/** In a report that would not have fitted. */
export const REPORT_CUT = "the members were left out: the report was too long";
