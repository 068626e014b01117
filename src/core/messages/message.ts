/**
 * How the rows of the tables of messages are written: which reason a wait has, how its parameters become a sentence, and
 * an example that the documentation and the tests show. A sentence is a fragment that begins small and has no full stop,
 * unless it ends with the words of another object, which are quoted as they are; whoever shows it adds what it lacks.
 */
import type { Approvable } from "./approvals.ts";
import type { HoldReason } from "./reasons.ts";

export type { Names } from "./names.ts";

interface Row<P> {
  readonly say: (params: P) => string;
  readonly example: NoInfer<P>;
}

/** Why a step is taken. */
export interface StepRow<P> extends Row<P> {
  readonly kind: "step";
}

/** Why steps wait. */
export interface WaitRow<P> extends Row<P> {
  readonly kind: "wait";
  /** What conditions, events and metrics carry; several sentences may share one. */
  readonly reason: HoldReason;
  /** What a person should do; absent where waiting is enough. One or more whole sentences. */
  readonly next?: (params: P) => string;
  /** What a person can approve to end it, if that is how it ends; undefined where these parameters have none. */
  readonly approval?: (params: P) => Approvable | undefined;
  /** Parameters that tell when, or how far: two waits that differ in nothing else are the same. */
  readonly volatile?: readonly (keyof P)[];
}

export function step<P extends object>(row: Omit<StepRow<P>, "kind">): StepRow<P> {
  return { kind: "step", ...row };
}

export function wait<P extends object>(
  reason: HoldReason,
  row: Omit<WaitRow<P>, "kind" | "reason">,
): WaitRow<P> {
  return { kind: "wait", reason, ...row };
}
