/** The key that members sign tokens with, and the step to the next one: when it is due, or when an operation asks for it. */
import type { Outcome } from "../action.ts";
import { currentKey } from "../auth/token.ts";
import { act } from "../steps/outcome.ts";
import type { View } from "../view.ts";

export function currentKeyOf({ observation: { cluster }, staying }: View): number {
  return currentKey(
    cluster.marks,
    staying.map(({ record }) => record),
  );
}

/** The next key, because the one in use is old, or because an operation asked for it. */
export function replaceTokenKey(
  view: View,
  by: { readonly since: number } | { readonly operation: string; readonly uid: string },
): Outcome {
  const number = currentKeyOf(view) + 1;
  const since = view.now;
  const tokenKey = "uid" in by ? { number, since, operation: by.uid } : { number, since };
  const action = { kind: "MarkCluster", purpose: "rotate-token-key", change: { tokenKey } } as const;
  return "uid" in by
    ? act("roll", "OperationRotatesKey", { operation: by.operation, number }, action)
    : act("roll", "TokenKeyDue", { number, since: by.since }, action);
}
