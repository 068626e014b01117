/** moveLeader: leadership goes to a healthy voter, which is settled at the start: the default would name another one after it moved. */
import { successor } from "../assess/successor.ts";
import type { OperationReason } from "../messages/operation-reasons.ts";
import { act } from "../steps/outcome.ts";
import type { MemberView } from "../view.ts";
import { failed, memberNamed, rejected, succeeded, unknownMember, type Handler } from "./handler.ts";
import type { TaskOf } from "./task.ts";

export const moveLeader: Handler<TaskOf<"moveLeader">> = {
  prepare(view, { to }) {
    const unknown = unknownMember(view, to === undefined ? [] : [to]);
    if (unknown) return unknown;
    const target = to === undefined ? view.leader && successor(view, view.leader) : memberNamed(view, to);
    if (!target)
      return rejected("NoOtherVoter", "no other voting member is healthy, so leadership stays where it is");
    const unfit = unfitness(target);
    if (unfit && !target.isLeader) return rejected(...unfit);
    if (target.isLeader) return succeeded(`${target.name} already leads`, "AlreadyLeader");
    return {
      start: { members: [target.name] },
      what: `move leadership to ${target.name}`,
      class: "maintain",
    };
  },

  advance(view, _task, operation) {
    const [name = ""] = operation.status.members ?? [];
    const target = memberNamed(view, name);
    if (!target?.entry) return failed("Incomplete", `${name} is no longer a member`);
    if (target.isLeader) return succeeded(`${name} leads`);
    const unfit = unfitness(target);
    if (unfit) return failed(...unfit);
    return {
      next: act(
        "maintain",
        "OperationMovesLeader",
        { operation: operation.name, member: name },
        { kind: "MoveLeader", member: name, memberID: target.entry.id, operation: operation.uid },
      ),
    };
  },
};

function unfitness({
  name,
  isVoter,
  healthy,
  fenced,
}: MemberView): readonly [OperationReason, string] | undefined {
  if (!isVoter) return ["MemberIsLearner", `${name} is a learner, which cannot lead`];
  if (!healthy) return ["MemberNotHealthy", `${name} is not healthy, so it cannot lead`];
  if (fenced) return ["MemberFenced", `${name} is fenced, so it does not lead: unfence it first`];
  return undefined;
}
