/**
 * replaceMember: what deleting its record does. While it serves, a new member joins and is promoted before it is removed
 * (H6); a broken one is removed first. The record of the member holds the request, so that it is carried out even if the
 * operation is deleted.
 */
import { joining, missingRole } from "../assess/size.ts";
import { HOLDS } from "../steps/hold-classes.ts";
import { CAUSES } from "../messages/causes.ts";
import { ending } from "../messages/operation-endings.ts";
import { DONE, TASKS } from "../messages/operation-steps.ts";
import { act, hold, update } from "../steps/outcome.ts";
import { survivesRemoval } from "../quorum.ts";
import { healthyVotersBut } from "../view.ts";
import { memberNamed, unknownMember, type Handler } from "./handler.ts";
import type { TaskOf } from "./task.ts";

export const replaceMember: Handler<TaskOf<"replaceMember">> = {
  prepare(view, { name }) {
    const member = memberNamed(view, name);
    const unknown = unknownMember(view, [name]);
    if (unknown || !member) return unknown ?? { reject: ending("MemberLeaves", { member: name }) };
    if (member.outOfReach) return { reject: ending("RemovalUnknown", { member: name }) };
    const isSafe =
      member.healthy || !member.isVoter || survivesRemoval(view.voters, healthyVotersBut(view, member));
    if (!isSafe) return { reject: ending("RemovalCostsQuorum", { member: name }) };
    return { start: { members: [name] }, what: TASKS.replace(name), class: member.healthy ? "roll" : "heal" };
  },

  advance(view, { name }, operation) {
    const about = { operation: operation.name, member: name };
    const member = view.members.find((candidate) => candidate.name === name);
    const wait = { next: hold(HOLDS.disruptions, "OperationAwaitsReplacement", about) };
    if (!member) {
      const complete = missingRole(view) === undefined && joining(view).length === 0;
      return complete ? { succeed: ending("Replaced", { member: name }) } : wait;
    }
    const { leaving, retiring } = member.record;
    if (!leaving && !retiring?.requested) {
      const request = { reason: CAUSES.replacementRequested, requested: true };
      return {
        next: act(
          member.healthy ? "roll" : "heal",
          "OperationReplaces",
          about,
          update(member, "retire", { retiring: request }),
        ),
      };
    }
    const isNoted = operation.status.steps?.some((step) => step.member === name);
    return isNoted ? wait : { done: { member: name, message: DONE.replacementRequested(name) } };
  },
};
