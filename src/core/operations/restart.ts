/**
 * restart: a stamp in the record makes the workload another one than runs, and rule restart-outdated does the rest: it
 * hands leadership over, keeps the quorum (I1), and replaces a member whose data would end with its workload (H4). The
 * next member gets its stamp when the one before serves again.
 */
import { ending } from "../messages/operation-endings.ts";
import { DONE, TASKS } from "../messages/operation-steps.ts";
import { HOLDS } from "../steps/hold-classes.ts";
import { act, hold, update } from "../steps/outcome.ts";
import type { OperationFacts } from "../observation.ts";
import { survivesRestart } from "../quorum.ts";
import { followersFirst, healthyVotersBut, namesOf, type MemberView, type View } from "../view.ts";
import { memberNamed, remaining, unknownMember, type Handler, type Progress } from "./handler.ts";
import type { TaskOf } from "./task.ts";

export const restart: Handler<TaskOf<"restart">> = {
  prepare(view, task) {
    const unknown = unknownMember(view, task.members ?? []);
    if (unknown) return unknown;
    const targets = view.staying.filter(({ name }) => task.members?.includes(name) ?? true);
    const unseen = task.members && targets.find(({ outOfReach }) => outOfReach);
    if (unseen) return { reject: ending("RestartUnknown", { member: unseen.name }) };
    const isUrgent = task.members !== undefined && targets.some(({ healthy }) => !healthy);
    // One that is ill goes first, and may be well by the time that the others have their turn.
    const needed = task.members && !isUrgent && targets.find((member) => costsQuorum(view, member));
    if (needed)
      return {
        reject: ending("RestartCostsQuorum", {
          member: needed.name,
          healthy: healthyVotersBut(view, needed),
          voters: view.voters,
        }),
      };
    const members = namesOf(inOrder(targets));
    return { start: { members }, what: TASKS.restart(members), class: isUrgent ? "revert" : "roll" };
  },

  advance(view, _task, operation) {
    const left = remaining(operation);
    for (const name of left) {
      const seen = progressOf(view, operation, name);
      if (seen) return seen;
    }
    const [next] = inOrder(left.flatMap((name) => memberNamed(view, name) ?? []));
    if (!next) {
      const { members = [] } = operation.status;
      // Where a restart loses the data, another member has come in its place.
      const replaced = members.some((name) => memberNamed(view, name) === undefined);
      return { succeed: ending("Restarted", { members, replaced }) };
    }
    const ill = view.staying.filter((member) => member !== next && !member.healthy);
    // One that does not serve has nothing to lose, as long as those that do keep quorum.
    if (next.healthy ? ill.length > 0 : costsQuorum(view, next)) {
      const about = { operation: operation.name, members: namesOf(ill) };
      return { next: hold(HOLDS.disruptions, "OperationAwaitsMembers", about) };
    }
    return {
      next: act(
        next.healthy ? "roll" : "revert",
        "OperationRestarts",
        { operation: operation.name, member: next.name },
        update(next, "restart", { restart: operation.uid }),
      ),
    };
  },
};

/** What became of a member that was stamped, or that is gone; undefined while it has not had its turn. */
function progressOf(view: View, operation: OperationFacts, name: string): Progress | undefined {
  const member = memberNamed(view, name);
  const about = { operation: operation.name, member: name };
  if (!member) return { done: { member: name, message: DONE.goneBeforeRestart(name) } };
  if (member.record.restart !== operation.uid) return undefined;
  if (member.record.retiring) return { next: hold(HOLDS.disruptions, "OperationAwaitsReplacement", about) };
  return member.upToDate && member.healthy
    ? { done: { member: name, message: DONE.restarted(name) } }
    : { next: hold(HOLDS.disruptions, "OperationAwaitsRestart", about) };
}

/** Those that do not serve first, then followers, the leader last. */
function inOrder(members: readonly MemberView[]): MemberView[] {
  return followersFirst(members).toSorted((a, b) => Number(a.healthy) - Number(b.healthy));
}

/** Sizes 1 and 2 cannot restart without a gap (R2): whoever asks for it gets it. */
function costsQuorum(view: View, member: MemberView): boolean {
  return member.isVoter && view.voters > 2 && !survivesRestart(view.voters, healthyVotersBut(view, member));
}
