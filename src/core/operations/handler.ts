/**
 * What each kind of operation gives: whether it may start and with what, and what comes next while it runs. Pure like a
 * rule; the rule `operations` makes steps of the answers. Each answer follows from the observation and the status alone,
 * so that it is the same after a crash at any point.
 */
import type { Outcome, StepClass } from "../action.ts";
import { ending, type Ending } from "../messages/operation-endings.ts";
import type { OperationFacts } from "../observation.ts";
import { namesOf, type MemberView, type View } from "../view.ts";
import type { OperationTask } from "./task.ts";
import type { OperationStep, Settled } from "./status.ts";

export type Preparation =
  /** It cannot be done, or not now: nothing was changed. */
  | { readonly reject: Ending }
  /** There is nothing to do. */
  | { readonly succeed: Ending }
  /** `what` says on which members, for people. */
  | { readonly start: Settled; readonly what: string; readonly class: StepClass };

export type Progress =
  /** Steps and waits, as a rule gives them. */
  | { readonly next: Outcome }
  /** An effect that was seen: it goes into the record. */
  | { readonly done: OperationStep }
  | { readonly succeed: Ending }
  | { readonly fail: Ending };

export interface Handler<Task extends OperationTask = OperationTask> {
  prepare(view: View, task: Task, operation: OperationFacts): Preparation;
  advance(view: View, task: Task, operation: OperationFacts): Progress;
}

/** A member that stays; one on its way out is none that a task could act on. */
export function memberNamed(view: View, name: string): MemberView | undefined {
  return view.staying.find((member) => member.name === name);
}

/** The first of these names that no member has. */
export function unknownMember(view: View, names: readonly string[]): Preparation | undefined {
  const unknown = names.find((name) => !memberNamed(view, name));
  if (unknown === undefined) return undefined;
  const leaving = view.members.some(({ name }) => name === unknown);
  const reject = leaving
    ? ending("MemberLeaves", { member: unknown })
    : ending("MemberUnknown", { member: unknown, members: namesOf(view.staying) });
  return { reject };
}

/** Members that were settled at the start and are not in the record of what was done. */
export function remaining({ status }: OperationFacts): string[] {
  const done = new Set(status.steps?.map(({ member }) => member));
  return (status.members ?? []).filter((name) => !done.has(name));
}
