/** Operations in a made-up world, and how they end there. */
import type { EtcdOperationStatus } from "../../api/etcd-operation.ts";
import type { Decision } from "../action.ts";
import { decide } from "../decide.ts";
import type { Observation, OperationFacts } from "../observation.ts";
import { reportOperations } from "../operations/report.ts";
import type { OperationTask } from "../operations/task.ts";
import { describeStep } from "../messages/step-names.ts";
import { plan } from "../plan/plan.ts";
import { viewOf } from "../view.ts";
import { run } from "./cluster.ts";

export function operationOf(task: OperationTask, more: Partial<OperationFacts> = {}): OperationFacts {
  return {
    name: "task",
    uid: `uid-of-${more.name ?? "task"}`,
    resourceVersion: "1",
    generation: 1,
    createdAt: 1,
    deleting: false,
    task,
    status: { observedGeneration: -1 },
    ...more,
  };
}

/** The world with one more operation, created after those it has. */
export function asking(
  observation: Observation,
  task: OperationTask,
  more: Partial<OperationFacts> = {},
): Observation {
  const createdAt = observation.operations.length + 1;
  const operation = operationOf(task, { createdAt, ...more });
  return { ...observation, operations: [...observation.operations, operation] };
}

/** The steps that follow, in a world where nothing fails. */
export function stepsOf(observation: Observation): string[] {
  return plan(observation).steps.map(describeStep);
}

export function statusOf(observation: Observation, name = "task"): EtcdOperationStatus {
  const found = observation.operations.find((operation) => operation.name === name);
  if (!found) throw new RangeError(`no operation is named ${name}`);
  return found.status;
}

/** How it ends in a world where nothing fails. */
export function outcomeOf(observation: Observation, name = "task"): EtcdOperationStatus {
  return statusOf(run(observation), name);
}

/** What is reported of it now: `Pending Paused`. */
export function reportedStatus(
  observation: Observation,
  name = "task",
  decision: Decision = decide(observation),
): string {
  const report = reportOperations(viewOf(observation), decision, undefined).find(
    ({ write }) => write.operation === name,
  );
  return report ? `${report.write.status.phase} ${report.write.status.reason}` : "nothing";
}
