/**
 * defragment: voters one at a time, followers first and the leader last (R29), only while every member is healthy and
 * none joins, as the maintenance rule does it. A learner rejects it (H8).
 */
import { mayDefragment } from "../assess/liveness.ts";
import { ending } from "../messages/operation-endings.ts";
import { DONE, TASKS } from "../messages/operation-steps.ts";
import { HOLDS } from "../steps/hold-classes.ts";
import { act, hold } from "../steps/outcome.ts";
import type { OperationFacts } from "../observation.ts";
import { followersFirst, hasLeft, namesOf, type MemberView, type View } from "../view.ts";
import { memberNamed, remaining, unknownMember, type Handler, type Progress } from "./handler.ts";
import type { TaskOf } from "./task.ts";

export const defragment: Handler<TaskOf<"defragment">> = {
  prepare(view, task) {
    const unknown = unknownMember(view, task.members ?? []);
    if (unknown) return unknown;
    const targets = view.staying.filter(({ name, isVoter }) => task.members?.includes(name) ?? isVoter);
    const learner = targets.find(({ isVoter }) => !isVoter);
    if (learner) return { reject: ending("LearnerNotDefragmented", { member: learner.name }) };
    const ill = task.members && targets.find(({ healthy }) => !healthy);
    if (ill) return { reject: ending("UnhealthyNotDefragmented", { member: ill.name }) };
    const large = targets.find((member) => isTooLarge(member));
    if (large) return { reject: ending("TooLargeToDefragment", { member: large.name }) };
    const members = namesOf(followersFirst(targets));
    return { start: { members }, what: TASKS.defragment(members), class: "maintain" };
  },

  advance(view, _task, operation) {
    const left = remaining(operation);
    for (const name of left) {
      const seen = finished(view, operation, name);
      if (seen) return seen;
    }
    const [next] = followersFirst(left.flatMap((name) => memberNamed(view, name) ?? []));
    if (!next) return ended(operation);
    // Only one is silent at a time.
    const busy = view.members.filter(
      (member) =>
        !hasLeft(view, member) && (!member.healthy || !member.record.joined || member.record.leaving),
    );
    const { name } = operation;
    if (busy.length > 0)
      return {
        next: hold(HOLDS.disruptions, "OperationAwaitsMembers", { operation: name, members: namesOf(busy) }),
      };
    return {
      next: act(
        "maintain",
        "OperationDefragments",
        { operation: name, member: next.name },
        { kind: "Defragment", member: next.name, operation: operation.uid },
      ),
    };
  },
};

function finished(view: View, { uid }: OperationFacts, name: string): Progress | undefined {
  const member = memberNamed(view, name);
  if (view.observation.etcd.defragmentedFor?.[name] === uid) {
    const size = member?.answer.reachable ? member.answer.dbSize : undefined;
    return { done: { member: name, message: DONE.defragmented(name, size) } };
  }
  if (!member) return { done: { member: name, message: DONE.notDefragmentedGone(name), failed: true } };
  // It voted when the operation began: somebody has removed it from etcd and added it again.
  if (member.entry?.isLearner)
    return { done: { member: name, message: DONE.notDefragmentedLearner(name), failed: true } };
  if (isTooLarge(member))
    return { done: { member: name, message: DONE.notDefragmentedLarge(name), failed: true } };
  return undefined;
}

function ended({ status }: OperationFacts): Progress {
  const { steps = [] } = status;
  const skipped = steps.flatMap(({ failed: not, member }) => (not && member !== undefined ? [member] : []));
  const count = (status.members?.length ?? 0) - skipped.length;
  return skipped.length === 0
    ? { succeed: ending("Defragmented", { count }) }
    : { fail: ending("DefragmentedBut", { count, skipped }) };
}

/** It would outlast the patience of liveness (H12). */
function isTooLarge({ answer, record }: MemberView): boolean {
  return answer.reachable && !mayDefragment(record.template.options, answer.dbSize);
}
