/**
 * What is reported of operations that cannot act now: why they wait, and that their cluster is going away. Like other
 * status it follows from the observation and the decision, also while the cluster is paused or has no quorum, and
 * nothing depends on it. A report needs no turn: it is made here.
 */
import type { EtcdClusterStatus } from "../../api/etcd-cluster-status.ts";
import type { Action, Decision, Hold } from "../action.ts";
import { operationReport } from "../messages/operation-reports.ts";
import type { OperationFacts } from "../observation.ts";
import { sayHold } from "../status/readiness.ts";
import type { View } from "../view.ts";
import { collectReport } from "./collect-report.ts";
import { isFinished, isReported, writeStatus, type StatusChange } from "./status.ts";
import { currentOf } from "./table.ts";

export type OperationWrite = Extract<Action, { kind: "UpdateOperation" }>;

export interface OperationReport {
  readonly write: OperationWrite;
  /** Only the words differ from what it says now. */
  readonly wordsOnly: boolean;
}

export function reportOperations(
  view: View,
  decision: Decision,
  status: EtcdClusterStatus | undefined,
): readonly OperationReport[] {
  const { operations, platform } = view.observation;
  if (platform.fenced) return [];
  return operations
    .filter((operation) => !isFinished(operation) && !operation.deleting)
    .flatMap((operation) => {
      const change = changeFor(view, decision, operation, status);
      return change ? reportOn(view, operation, change) : [];
    });
}

function reportOn(view: View, operation: OperationFacts, change: StatusChange): OperationReport[] {
  const { status } = operation;
  if (isReported(status, change)) return [];
  const purpose = {
    Succeeded: "succeed",
    Failed: "fail",
    Rejected: "reject",
    Pending: "wait",
    Running: "wait",
  };
  return [
    {
      write: writeStatus(
        operation,
        change,
        purpose[change.phase] as OperationWrite["purpose"],
        view.serverNow,
      ),
      wordsOnly: status.phase === change.phase && status.reason === change.reason,
    },
  ];
}

function changeFor(
  view: View,
  decision: Decision,
  operation: OperationFacts,
  status: EtcdClusterStatus | undefined,
): StatusChange | undefined {
  const { cluster, operations } = view.observation;
  const phase = operation.status.phase ?? "Pending";
  if (cluster.deleting)
    return {
      phase: phase === "Running" ? "Failed" : "Rejected",
      ...operationReport("ClusterIsDeleted", { cluster: cluster.name }),
    };
  if (operation.task.kind === "collectReport")
    return {
      phase: "Succeeded",
      ...operationReport("ReportCollected", {}),
      report: collectReport(view, decision, status),
    };
  const rests = phase === "Pending" && operation.task.kind === "restore" ? whyItRests(view) : undefined;
  if (rests) return { phase: "Rejected", ...rests };
  const current = currentOf(operations);
  if (current && current !== operation)
    return { phase, ...operationReport("AwaitsOther", { operation: current.name }) };
  // While steps are taken, a wait is over in a moment.
  const wait = decision.act ? undefined : waitOf(decision, operation);
  if (wait) return { phase, reason: wait.reason, message: sayHold(wait) };
  if (operation.status.phase === undefined) return { phase, ...operationReport("AwaitsStep", {}) };
  return undefined;
}

/** An approval to replace all data is for now: nobody would expect it to be used when the cluster wakes weeks later. */
function whyItRests({ spec }: View): Pick<StatusChange, "reason" | "message"> | undefined {
  if (spec.paused) return operationReport("ClusterIsPaused", {});
  return spec.replicas === 0 ? operationReport("ClusterIsHibernated", {}) : undefined;
}

/** What keeps the next step of an operation back: its class is held, its own rule waits, or nothing is done at all. */
function waitOf({ holds, heldBack }: Decision, { task }: OperationFacts): Hold | undefined {
  const rotation = holds.find(({ rule }) => rule === "rotate-authorities");
  const kept = heldBack.find(({ rule }) => rule === "operations");
  const keeps = (hold: Hold) =>
    hold.classes === "all" || (kept !== undefined && hold.classes.includes(kept.class));
  const isOwn = ({ rule, classes }: Hold) => rule === "operations" && classes.length > 0;
  return (
    holds.find(keeps) ?? holds.find(isOwn) ?? (task.kind === "rotateCertificates" ? rotation : undefined)
  );
}
