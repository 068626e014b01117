/** moveLeader: leadership goes to a healthy voter, which is settled at the start: the default would name another one after it moved. */
import { successor } from "../assess/successor.ts";
import { ending, type Ending } from "../messages/operation-endings.ts";
import { TASKS } from "../messages/operation-steps.ts";
import { act } from "../steps/outcome.ts";
import type { MemberView } from "../view.ts";
import { memberNamed, unknownMember, type Handler } from "./handler.ts";
import type { TaskOf } from "./task.ts";

export const moveLeader: Handler<TaskOf<"moveLeader">> = {
  prepare(view, { to }) {
    const unknown = unknownMember(view, to === undefined ? [] : [to]);
    if (unknown) return unknown;
    const target = to === undefined ? view.leader && successor(view, view.leader) : memberNamed(view, to);
    if (!target) return { reject: ending("NoOtherVoter", {}) };
    const unfit = unfitness(target);
    if (unfit && !target.isLeader) return { reject: unfit };
    if (target.isLeader) return { succeed: ending("AlreadyLeads", { member: target.name }) };
    return {
      start: { members: [target.name] },
      what: TASKS.moveLeader(target.name),
      class: "maintain",
    };
  },

  advance(view, _task, operation) {
    const [name = ""] = operation.status.members ?? [];
    const target = memberNamed(view, name);
    if (!target?.entry) return { fail: ending("NextLeaderLeft", { member: name }) };
    if (target.isLeader) return { succeed: ending("Leads", { member: name }) };
    const unfit = unfitness(target);
    if (unfit) return { fail: unfit };
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

function unfitness({ name: member, isVoter, healthy, fenced }: MemberView): Ending | undefined {
  if (!isVoter) return ending("LearnerCannotLead", { member });
  if (!healthy) return ending("UnhealthyCannotLead", { member });
  if (fenced) return ending("FencedDoesNotLead", { member });
  return undefined;
}
