/**
 * "What would happen if I applied this?": `decide` folded forward over a model of its own effects. The
 * same function that acts also foretells, so a plan cannot drift away from what is done.
 */
import type { Act, Decision, Hold } from "../action.ts";
import { decide } from "../decide.ts";
import { sameContent } from "../template/hash.ts";
import type { Observation } from "../observation.ts";
import { sameHolds } from "../steps/outcome.ts";
import { predict } from "./predict.ts";
import { settle } from "./settle.ts";

/** No sensible change of nine voters takes more; a longer plan would be a loop, and is cut here. */
const LONGEST_PLAN = 400;

export interface Plan {
  readonly steps: readonly Act[];
  /** Converged, or the waits at which only the world or a person can go on. */
  readonly end: { readonly converged: true } | { readonly converged: false; readonly holds: readonly Hold[] };
}

/**
 * `first` is what was decided on the observation, where that is known already; `onStep` is told each step with what
 * would be seen before it.
 */
export function plan(
  observation: Observation,
  first: Decision = decide(observation),
  onStep?: (act: Act, before: Observation) => void,
): Plan {
  const steps: Act[] = [];
  let world = observation;
  let decision = first;
  let waits: Waits | undefined;
  for (let passes = 1; passes < LONGEST_PLAN; passes++) {
    if (decision.act) {
      steps.push(decision.act);
      onStep?.(decision.act, world);
      if (decision.act.action.kind === "FinishDeletion") return { steps, end: { converged: true } };
      world = predict(world, decision.act.action);
      waits = undefined;
    } else {
      if (decision.converged) return { steps, end: { converged: true } };
      const later = settle({ ...world, now: Math.max(world.now, decision.lookAgainAt ?? world.now) });
      // Waiting for a time, or for what starts by itself: look again then. Else the plan ends in a wait.
      const alike = sameContent({ ...later, now: world.now }, world);
      if (alike && later.now === world.now)
        return { steps, end: { converged: false, holds: decision.holds } };
      // A wait that begins anew at each look never ends by itself.
      if (alike && waits && sameWaits(waits, { holds: decision.holds, now: world.now }))
        return { steps, end: { converged: false, holds: waits.holds } };
      waits = alike ? { holds: decision.holds, now: world.now } : undefined;
      world = later;
    }
    decision = decide(world);
  }
  return { steps, end: { converged: false, holds: decision.holds } };
}

interface Waits {
  readonly holds: readonly Hold[];
  readonly now: number;
}

/** The same is waited for, and takes as long again. */
function sameWaits(a: Waits, b: Waits): boolean {
  const left = ({ holds, now }: Waits) => holds.map(({ until }) => until && until - now);
  return sameHolds(a.holds, b.holds) && sameContent(left(a), left(b));
}
