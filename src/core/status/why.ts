/** "Why is nothing happening?": the decision, told to a person, with what to do next. */
import type { Decision, Hold } from "../action.ts";
import { describeStep } from "../plan/plan.ts";

export interface Reason {
  readonly reason: string;
  readonly message: string;
  /** What a person can do; undefined when waiting is enough. */
  readonly next?: string;
}

export interface Explanation {
  readonly summary: string;
  readonly reasons: readonly Reason[];
  /** What goes on as soon as the reasons are gone. */
  readonly then: readonly string[];
}

/** Only a clock: that a finished task is deleted tomorrow answers nobody's question. */
const CLOCKS: ReadonlySet<Hold["code"]> = new Set(["OperationExpires"]);

export function why(decision: Decision): Explanation {
  const reasons = decision.holds
    .filter(({ code }) => !CLOCKS.has(code))
    .map(({ reason, message, next }) => ({ reason, message, next }));
  const then = decision.heldBack.map(describeStep);
  if (decision.act) {
    return {
      summary: `In progress: ${describeStep(decision.act)} (${decision.act.message}).`,
      reasons,
      then,
    };
  }
  if (decision.converged) {
    const [remark] = reasons;
    const needsPerson = remark?.reason === "ForeignMember";
    return {
      summary: remark
        ? `${needsPerson ? "Needs attention" : "Nothing to do"}: ${remark.message}.`
        : "Nothing to do: the cluster matches its spec.",
      reasons,
      then,
    };
  }
  const reported = reasons.find((reason) => reason.next !== undefined);
  return {
    summary: reported
      ? `Waiting for a person: ${reported.message}.`
      : `Waiting: ${reasons.map((r) => r.message).join("; ")}.`,
    reasons,
    then,
  };
}
