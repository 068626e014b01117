/** The end of an operation that began the cluster anew from a snapshot: it is noted, and the other members are awaited. */
import { joining, missingRole } from "../assess/size.ts";
import { HOLDS } from "../steps/hold-classes.ts";
import { ending } from "../messages/operation-endings.ts";
import type { OperationFacts } from "../observation.ts";
import { hold } from "../steps/outcome.ts";
import type { View } from "../view.ts";
import type { Progress } from "./handler.ts";
import type { OperationStep } from "./status.ts";

/** `step` names a member: by that it is told from the steps before the new life. */
export function rebuilding(
  view: View,
  { name, status }: OperationFacts,
  step: OperationStep & { readonly member: string },
): Progress {
  if (!status.steps?.some(({ member }) => member !== undefined)) return { done: step };
  const complete = missingRole(view) === undefined && joining(view).length === 0;
  return complete
    ? { succeed: ending("Rebuilt", { done: step.message }) }
    : { next: hold(HOLDS.disruptions, "RecoveryRebuilds", { operation: name }) };
}
