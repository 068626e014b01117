/** The classes of steps, which holds name. */

/**
 * What a step does to the cluster, so that a wait can name what must wait for it.
 * A learner that never catches up holds `join` and `roll`, but not `heal`, `revert` or `shrink`.
 */
export type StepClass =
  | "life"
  | "record"
  | "heal"
  | "revert"
  | "join"
  | "promote"
  | "shrink"
  | "roll"
  | "maintain";
