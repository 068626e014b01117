/** The status of an EtcdOperation: how each write of it is made from the one before. Its conditions follow from its phase. */
import type { EtcdOperationStatus } from "../../api/etcd-operation.ts";
import type { OperationPhase } from "../../api/status-words.ts";
import type { Action, OperationPurpose } from "../action.ts";
import type { OperationReason } from "../messages/operation-reasons.ts";
import type { HoldReason } from "../messages/reasons.ts";
import type { OperationFacts } from "../observation.ts";
import { condition, findCondition, no, sentence, timestamp, yes } from "../status/condition.ts";

/** What is the case with it: a phase, one word for machines, and a fragment of a sentence. */
export interface OperationVerdict {
  readonly phase: OperationPhase;
  readonly reason: OperationReason | HoldReason;
  readonly message: string;
}

/** What was done, or could not be. */
export interface OperationStep {
  readonly message: string;
  readonly member?: string;
  readonly failed?: boolean;
}

/** What is settled before the first effect, so that a later look, or another controller, acts on the same. */
export type Settled = Pick<EtcdOperationStatus, "members" | "revision">;

export interface StatusChange extends OperationVerdict {
  readonly step?: OperationStep;
  readonly settled?: Settled;
  readonly report?: string;
}

export const FINAL: ReadonlySet<string | undefined> = new Set<OperationPhase>([
  "Succeeded",
  "Failed",
  "Rejected",
]);

export function isFinished({ status }: OperationFacts): boolean {
  return FINAL.has(status.phase);
}

const LONGEST = 1024;

/** Whether the status says it already, as far as its field holds it. */
export function isReported(status: EtcdOperationStatus | undefined, verdict: OperationVerdict): boolean {
  return (
    status?.phase === verdict.phase &&
    status.reason === verdict.reason &&
    status.message === messageOf(verdict)
  );
}

function messageOf({ message }: Pick<OperationVerdict, "message">): string {
  return sentence(message).slice(0, LONGEST);
}

export function statusAfter(
  { status: before, generation, task }: OperationFacts,
  change: StatusChange,
  now: number,
): EtcdOperationStatus {
  const { phase, reason, step, settled, report } = change;
  const message = messageOf(change);
  const at = timestamp(now);
  const steps = step && [...(before.steps ?? []), { at, ...step, message: messageOf(step) }];
  const seen = { now, generation };
  const verdicts = {
    Ready: phase === "Succeeded" ? yes(reason, message) : no(reason, message),
    Reconciling: FINAL.has(phase) ? no(reason, message) : yes(reason, message),
    Stalled: phase === "Failed" || phase === "Rejected" ? yes(reason, message) : no(reason, message),
  };
  return {
    ...before,
    observedGeneration: generation,
    ...(task.kind !== "unknown" && { operation: task.kind }),
    phase,
    reason,
    message,
    ...(phase === "Running" && { startedAt: before.startedAt ?? at }),
    ...(FINAL.has(phase) && { completedAt: at }),
    ...(steps && { steps }),
    ...settled,
    ...(report !== undefined && { report }),
    conditions: (Object.keys(verdicts) as (keyof typeof verdicts)[]).map((type) =>
      condition(type, verdicts[type], findCondition(before.conditions, type), seen),
    ),
  };
}

export function writeStatus(
  operation: OperationFacts,
  change: StatusChange,
  purpose: OperationPurpose,
  now: number,
): Extract<Action, { kind: "UpdateOperation" }> {
  const { name, resourceVersion } = operation;
  return {
    kind: "UpdateOperation",
    operation: name,
    resourceVersion,
    status: statusAfter(operation, change, now),
    purpose,
  };
}
