/** "Why is nothing happening?": the decision, told to a person, with what to do next. */
import type { Decision, Hold } from "../action.ts";
import { SUMMARIES } from "../messages/summaries.ts";
import { describeStep } from "../messages/step-names.ts";
import { sentence } from "./condition.ts";

export interface Reason {
  readonly reason: string;
  readonly message: string;
  /** What a person can do; undefined when waiting is enough. */
  readonly next?: string;
  /** The summary says it already. */
  readonly inSummary?: true;
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
      summary: SUMMARIES.acting(describeStep(decision.act), decision.act.message),
      reasons,
      then,
    };
  }
  if (decision.converged) {
    const [remark, ...others] = reasons;
    if (!remark) return { summary: SUMMARIES.converged, reasons, then };
    const needsPerson = remark.reason === "ForeignMember";
    return {
      summary: SUMMARIES.remark(needsPerson, remark.message),
      reasons: [summarized(remark), ...others],
      then,
    };
  }
  const reported = reasons.find((reason) => reason.next !== undefined);
  if (reported)
    return {
      summary: SUMMARIES.forPerson(reported.message),
      reasons: reasons.map((one) => (one === reported ? summarized(one) : one)),
      then,
    };
  const [first = "", ...more] = reasons.map(({ message }) => message);
  return {
    summary: SUMMARIES.waiting(first, more.map(sentence)),
    reasons: reasons.map(summarized),
    then,
  };
}

function summarized(reason: Reason): Reason {
  return { ...reason, inSummary: true };
}
