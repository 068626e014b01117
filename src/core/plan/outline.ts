/**
 * A plan as people read it: each step with how many voters could still fail while it is carried out. The same for a
 * change that is only asked about and for what is under way, on every platform.
 */
import type { Act } from "../action.ts";
import type { Observation } from "../observation.ts";
import { quorum } from "../quorum.ts";
import { viewOf } from "../view.ts";
import { describeStep } from "../messages/step-names.ts";
import { plan } from "./plan.ts";

/**
 * `none`: no voter is touched. `low`: another voter may fail meanwhile. `elevated`: one more failure meanwhile costs
 * quorum. `outage`: quorum is lost for as long as the step takes.
 */
export type Risk = "none" | "low" | "elevated" | "outage";

export interface OutlinedStep {
  readonly step: string;
  readonly reason: string;
  readonly member?: string;
  /** Voters that may fail before quorum is lost, at the lowest while the step is carried out; absent without a quorum. */
  readonly headroom?: number;
  readonly risk: Risk;
}

export interface Outline {
  readonly steps: readonly OutlinedStep[];
  readonly converged: boolean;
  readonly waiting: readonly { readonly message: string; readonly next?: string | undefined }[];
}

export function outline(observation: Observation): Outline {
  const steps: OutlinedStep[] = [];
  const { end } = plan(observation, undefined, (act, world) => steps.push(outlined(act, world)));
  return {
    steps,
    converged: end.converged,
    waiting: end.converged ? [] : end.holds.map(({ message, next }) => ({ message, next })),
  };
}

function outlined(act: Act, world: Observation): OutlinedStep {
  const step = {
    step: describeStep(act),
    reason: act.message,
    ...("member" in act.action && { member: act.action.member }),
  };
  const { voters, healthyVoters, hasQuorum } = viewOf(world);
  if (!hasQuorum) return { ...step, risk: "none" };
  const before = healthyVoters - quorum(voters);
  const during = headroomDuring(act, world);
  if (during === undefined) return { ...step, headroom: before, risk: "none" };
  return { ...step, headroom: during, risk: during > 0 ? "low" : during === 0 ? "elevated" : "outage" };
}

/** Undefined for a step that takes nothing away from those who vote. */
function headroomDuring({ action }: Act, world: Observation): number | undefined {
  const { members, voters, healthyVoters } = viewOf(world);
  const member = "member" in action ? members.find(({ name }) => name === action.member) : undefined;
  if (!member?.isVoter) {
    // A learner that becomes a voter raises the quorum before it has proved itself.
    return action.kind === "Promote" ? healthyVoters - quorum(voters + 1) : undefined;
  }
  const lost = member.healthy ? 1 : 0;
  switch (action.kind) {
    case "StopWorkload":
    case "Defragment":
      return healthyVoters - lost - quorum(voters);
    case "RemoveFromEtcd":
      return healthyVoters - lost - quorum(voters - 1);
    default:
      return undefined;
  }
}
