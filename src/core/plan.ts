/**
 * "What would happen if I applied this?": `decide` folded forward over a model of its own effects. The
 * same function that acts also foretells, so a plan cannot drift away from what is done.
 */
import type { Act, Hold } from "./action.ts";
import { decide } from "./decide.ts";
import { sameContent } from "./hash.ts";
import type { Observation } from "./observation.ts";
import { predict } from "./predict.ts";
import { settle } from "./settle.ts";

/** No sensible change of nine voters takes more; a longer plan would be a loop, and is cut here. */
const LONGEST_PLAN = 400;

export interface Plan {
  readonly steps: readonly Act[];
  /** Converged, or the waits at which only the world or a person can go on. */
  readonly end: { readonly converged: true } | { readonly converged: false; readonly holds: readonly Hold[] };
}

export function plan(observation: Observation): Plan {
  const steps: Act[] = [];
  let world = observation;
  for (let passes = 0; passes < LONGEST_PLAN; passes++) {
    const decision = decide(world);
    if (decision.act) {
      steps.push(decision.act);
      if (decision.act.action.kind === "FinishDeletion") return { steps, end: { converged: true } };
      world = predict(world, decision.act.action);
      continue;
    }
    if (decision.converged) return { steps, end: { converged: true } };
    const later = settle({ ...world, now: Math.max(world.now, decision.lookAgainAt ?? world.now) });
    // Waiting for a time, or for what starts by itself: look again then. Else the plan ends in a wait.
    if (sameContent(later, world)) return { steps, end: { converged: false, holds: decision.holds } };
    world = later;
  }
  return { steps, end: { converged: false, holds: decide(world).holds } };
}

/** A step in a few words, as plans, transcripts and logs show it. */
export function describeStep({ action }: Pick<Act, "action">): string {
  switch (action.kind) {
    case "UpdateMember":
      return `${action.purpose} ${action.member}`;
    case "MarkCluster":
      return `mark ${action.purpose}`;
    case "Compact":
      return `compact to revision ${action.revision}`;
    case "Disarm":
      return `disarm ${action.alarm}`;
    case "CompareHashes":
      return "compare hashes";
    case "EnableDowngrade":
      return `enable downgrade to ${action.version}`;
    case "CancelDowngrade":
      return "cancel downgrade";
    case "AdvanceLog":
      return "advance the log";
    case "NudgeLog":
      return "nudge the log";
    case "FinishDeletion":
      return "finish deletion";
    default:
      return `${words(action.kind)} ${action.member}`;
  }
}

function words(kind: string): string {
  return kind.replaceAll(/(?<=[a-z])(?=[A-Z])/g, " ").toLowerCase();
}
