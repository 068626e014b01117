/** The steps that begin and end an operation: each writes its status. */
import type { Outcome } from "../action.ts";
import type { OperationFacts } from "../observation.ts";
import { act } from "../steps/outcome.ts";
import type { View } from "../view.ts";
import type { Ending } from "../messages/operation-endings.ts";
import type { Preparation } from "./handler.ts";
import { writeStatus } from "./status.ts";

export function started(
  view: View,
  operation: OperationFacts,
  { start: settled, what, class: stepClass }: Extract<Preparation, { start: unknown }>,
): Outcome {
  const change = { phase: "Running", reason: "Started", message: what, settled } as const;
  return act(
    stepClass,
    "OperationStarted",
    { operation: operation.name, task: what },
    writeStatus(operation, change, "start", view.serverNow),
  );
}

const PHASES = { succeed: "Succeeded", fail: "Failed", reject: "Rejected" } as const;

export function ended(
  view: View,
  operation: OperationFacts,
  purpose: keyof typeof PHASES,
  { reason, message }: Ending,
): Outcome {
  const { name } = operation;
  const write = writeStatus(operation, { phase: PHASES[purpose], reason, message }, purpose, view.serverNow);
  return purpose === "reject"
    ? act("record", "OperationRejected", { operation: name, why: message }, write)
    : act("record", "OperationFinished", { operation: name, outcome: message }, write);
}

/** What a handler answered whether it may start. */
export function prepared(view: View, operation: OperationFacts, preparation: Preparation): Outcome {
  if ("reject" in preparation) return ended(view, operation, "reject", preparation.reject);
  if ("succeed" in preparation) return ended(view, operation, "succeed", preparation.succeed);
  return started(view, operation, preparation);
}
