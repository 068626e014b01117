/** The status of one pass: what core says of it, with the plan and what went wrong. */
import type { EtcdClusterStatus, PlanStep } from "../api/etcd-cluster-status.ts";
import type { Decision } from "../core/action.ts";
import type { Observation } from "../core/observation.ts";
import { describeStep, plan } from "../core/plan/plan.ts";
import { statusOf, type GivenStatus } from "../core/status/status.ts";
import { viewOf } from "../core/view.ts";
import type { Platform } from "./platform.ts";
import type { Failure } from "./retries.ts";
import { stepName } from "./transcript.ts";

export interface PassFacts {
  readonly observation: Observation;
  readonly decision: Decision;
  readonly failure?: Failure | undefined;
  readonly problems: readonly string[];
}

export async function passStatus(
  platform: Platform,
  facts: PassFacts,
  previous: EtcdClusterStatus | undefined,
): Promise<EtcdClusterStatus> {
  const { observation, decision, failure, problems } = facts;
  const given: GivenStatus = {
    ...(await platform.describe(viewOf(observation))),
    plan: decision.converged ? [] : planSteps(observation, decision),
    problems,
    ...(failure && { failure: `${failure.step} failed: ${failure.message}` }),
  };
  return statusOf(observation, decision, previous, given);
}

/** The steps to come, the first with what it waits for. */
function planSteps(observation: Observation, decision: Decision): PlanStep[] {
  const wait = decision.act ? undefined : decision.holds[0]?.message;
  return plan(observation, decision).steps.map((act, index) => ({
    step: stepName(act.action),
    ...("member" in act.action && { member: act.action.member }),
    text: `${describeStep(act)}: ${act.message}`,
    ...(index === 0 && wait !== undefined && { waitingFor: wait }),
  }));
}
