/**
 * The steps to come, for the status. To work them out is to decide many times over, so while the loop only waits for
 * the same things they are worked out every other second and not at each look.
 */
import type { PlanStep } from "../api/etcd-cluster-status.ts";
import type { Decision } from "../core/action.ts";
import type { Observation } from "../core/observation.ts";
import { sameHolds } from "../core/steps/outcome.ts";
import { describeStep } from "../core/messages/step-names.ts";
import { plan } from "../core/plan/plan.ts";
import { stepName } from "./transcript.ts";

const STAYS_FOR_MS = 2_000;

interface Forecasted {
  readonly situation: string;
  readonly decision: Decision;
  readonly at: number;
  readonly steps: readonly PlanStep[];
}

export class Forecast {
  #latest: Forecasted | undefined;

  /** `at`: the monotonic clock. */
  stepsFor(observation: Observation, decision: Decision, at: number): PlanStep[] {
    if (decision.converged) {
      this.#latest = undefined;
      return [];
    }
    const situation = situationOf(observation, decision);
    const known = this.#latest;
    const isKnown =
      known?.situation === situation &&
      at - known.at < STAYS_FOR_MS &&
      sameHolds(known.decision.holds, decision.holds);
    const latest = isKnown ? known : { situation, decision, at, steps: stepsOf(observation, decision) };
    this.#latest = latest;
    return withWait(latest.steps, decision);
  }
}

/** What was asked for, what was done so far, and what is next. */
function situationOf({ cluster, members }: Observation, { act }: Decision): string {
  const records = members.map(({ record }) => `${record.uid} ${record.resourceVersion}`);
  const next = act ? [act.rule, act.code, stepName(act.action)] : [];
  return [cluster.generation, cluster.approved, ...records, ...next].join("\n");
}

function stepsOf(observation: Observation, decision: Decision): PlanStep[] {
  return plan(observation, decision).steps.map((act) => ({
    step: stepName(act.action),
    ...("member" in act.action && { member: act.action.member }),
    text: `${describeStep(act)}: ${act.message}`,
  }));
}

/** The first step, with what it waits for. */
function withWait([first, ...rest]: readonly PlanStep[], { act, holds }: Decision): PlanStep[] {
  if (!first) return [];
  const wait = act ? undefined : holds[0]?.message;
  return [{ ...first, ...(wait !== undefined && { waitingFor: wait }) }, ...rest];
}
