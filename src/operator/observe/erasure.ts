/** How far the deletion of a member's directory on its node is, from the Pod that does it. */
import type { Pod } from "kubernetes-types/core/v1.d.ts";
import { ERASE_REFUSED } from "../../recovery/erase.ts";
import { parseResult } from "../../snapshot/result.ts";

export type Erasure =
  /** It was not asked for yet, or what was asked for is gone again. */
  | { readonly is: "wanted"; readonly begun?: { readonly since: number; readonly why?: string } }
  | { readonly is: "running"; readonly since: number; readonly why?: string }
  | { readonly is: "done" }
  | { readonly is: "impossible"; readonly why: string };

/** `since`: when it was made, by the controller's clock. */
export function erasureOf(pod: Pod, since: number): Erasure {
  const { phase, reason = "", message = "", containerStatuses = [], conditions = [] } = pod.status ?? {};
  const { state, lastState } = containerStatuses[0] ?? {};
  const ended = state?.terminated ?? lastState?.terminated;
  const said = parseResult(ended?.message);
  if (phase === "Succeeded") return { is: "done" };
  if (said && !said.ok && said.reason === ERASE_REFUSED) return { is: "impossible", why: said.message };
  const words = said && !said.ok ? said.message : undefined;
  if (phase === "Failed") {
    const how = words ?? [reason, message].filter((part) => part !== "").join(": ");
    return { is: "impossible", why: `the Pod that deletes it failed${how === "" ? "" : ` (${how})`}` };
  }
  const waiting = state?.waiting;
  const unready = conditions.find(({ type, status }) => type === "PodScheduled" && status === "False");
  const why =
    words ??
    (waiting?.reason !== undefined && waiting.reason !== "ContainerCreating"
      ? [waiting.reason, waiting.message].filter(Boolean).join(": ")
      : unready?.message);
  return { is: "running", since, ...(why !== undefined && { why }) };
}
