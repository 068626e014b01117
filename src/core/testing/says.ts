/** What one rule says of an observation, in a few words for each outcome. */
import type { Rule } from "../rule.ts";
import type { Observation } from "../observation.ts";
import { describeStep } from "../messages/step-names.ts";
import { viewOf } from "../view.ts";

/** `heal: leave demo-2` for a step, `Stopping` or `Corrupt for 5000 ms` for a wait. */
export function says(rule: Rule, observation: Observation): string[] {
  return rule(viewOf(observation)).map((outcome) => {
    if ("act" in outcome) return `${outcome.act.class}: ${describeStep(outcome.act)}`;
    const { reason, until } = outcome.hold;
    return until === undefined ? reason : `${reason} for ${until - observation.now} ms`;
  });
}

/** The sentences that a rule tells people. */
export function words(rule: Rule, observation: Observation): string {
  return rule(viewOf(observation))
    .map((outcome) => ("act" in outcome ? outcome.act.message : outcome.hold.message))
    .join("; ");
}
