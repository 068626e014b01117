/** What one member answered to the questions of an observation, and how long it has for that. */
import type { MemberAnswer } from "../core/observation.ts";

/** A healthy member answers in milliseconds; a longer wait would only delay what can be done elsewhere. */
export const ASK_TIMEOUT_MS = 1_000;

export interface AskedMember {
  readonly answer: MemberAnswer;
  /** etcd speaks of alarms or troubles in the status; the reason to ask for the alarms themselves. */
  readonly troubled: boolean;
}
