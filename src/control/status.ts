/** The status of one pass: what core says of it, with the plan and what went wrong. */
import type { EtcdClusterStatus, PlanStep } from "../api/etcd-cluster-status.ts";
import type { Decision } from "../core/action.ts";
import type { Observation } from "../core/observation.ts";
import { statusOf, type GivenStatus } from "../core/status/status.ts";
import { viewOf } from "../core/view.ts";
import type { Platform } from "./platform.ts";
import { sentencesOf, type Problem } from "./problem.ts";
import type { Failure } from "./retries.ts";

export interface PassFacts {
  readonly observation: Observation;
  readonly decision: Decision;
  readonly failure?: Failure | undefined;
  readonly problems: readonly Problem[];
  readonly plan: readonly PlanStep[];
}

export async function passStatus(
  platform: Platform,
  facts: PassFacts,
  previous: EtcdClusterStatus | undefined,
): Promise<EtcdClusterStatus> {
  const { observation, decision, failure, problems, plan } = facts;
  const given: GivenStatus = {
    ...(await platform.describe(viewOf(observation))),
    plan,
    problems: sentencesOf(problems),
    ...(failure && { failure: `${failure.step} failed: ${failure.message}` }),
  };
  return statusOf(observation, decision, previous, given);
}
