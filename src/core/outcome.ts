/** Short ways to write what a rule returns. */
import type { Action, Hold, Outcome, RecordChange, RecordPurpose, StepClass } from "./action.ts";
import type { MemberView } from "./view.ts";

export function act(stepClass: StepClass, reason: string, action: Action): Outcome {
  return { act: { class: stepClass, reason, action } };
}

export function hold(wait: Omit<Hold, "rule">): Outcome {
  return { hold: wait };
}

/** A write of one member's record, under the version that was read: the record is the lock (H10). */
export function update(member: MemberView, purpose: RecordPurpose, change: RecordChange): Action {
  return {
    kind: "UpdateMember",
    member: member.name,
    resourceVersion: member.record.resourceVersion,
    change,
    purpose,
  };
}
