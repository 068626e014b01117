/**
 * The phase of a cluster: one word for a column, from a closed list. It follows from the conditions and from what is
 * being done, so that it never says otherwise than they do.
 */
import type { ClusterPhase } from "../../api/status-words.ts";
import type { Decision, StepClass } from "../action.ts";
import type { View } from "../view.ts";
import type { Verdict } from "./condition.ts";
import type { Judged, Work } from "./readiness.ts";

export function phaseOf(
  view: View,
  decision: Decision,
  judged: Judged & { readonly Ready: Verdict },
  work: Work | undefined,
  allUpdated: boolean,
): ClusterPhase {
  const { Ready, Stalled, Degraded, Quorate } = judged;
  const { act } = decision;
  if (view.observation.cluster.deleting) return "Deleting";
  if (work?.reason === "Paused") return "Paused";
  if (Quorate.status === "Unknown") return "Unknown";
  if (view.spec.replicas === 0) return work?.reason === "Hibernated" ? "Hibernated" : "Hibernating";
  if (view.established && Quorate.status === "False") return act?.class === "life" ? "Waking" : "NoQuorum";
  if (Stalled.status === "True") return "Stalled";
  if (!view.established) return "Creating";
  const doing = act && PHASE_OF_CLASS[act.class];
  if (doing) return doing;
  if (Ready.status === "True") return "Healthy";
  if (Degraded.status === "True" && Degraded.reason !== "MemberRestarting") return "Degraded";
  if (Ready.status === "Unknown") return "Unknown";
  if (work && WAITS_FOR_ITS_TIME.has(work.reason)) return "Waiting";
  // Between two steps: what is not finished says what is going on.
  if (!allUpdated) return "RollingOut";
  if (view.staying.some(({ record }) => !record.joined)) return "AddingMember";
  if (view.members.some(({ record }) => record.leaving)) return "RemovingMember";
  return Degraded.status === "True" ? "Degraded" : "Waiting";
}

/** Nothing is under way: it begins at its time. */
const WAITS_FOR_ITS_TIME: ReadonlySet<string> = new Set(["OutsideWindow", "ReplacementBudget"]);

/** Keeping records is no work that a user knows. */
const PHASE_OF_CLASS: Readonly<Partial<Record<StepClass, ClusterPhase>>> = {
  life: "Waking",
  heal: "Healing",
  revert: "RollingBack",
  join: "AddingMember",
  promote: "AddingMember",
  shrink: "RemovingMember",
  roll: "RollingOut",
  maintain: "Maintaining",
};
