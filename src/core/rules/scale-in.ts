/**
 * More members than wanted: the least useful one leaves, one at a time. Broken ones go first and are not
 * replaced (H6); retiring ones go once their successors vote; then those that do not vote yet; then the
 * youngest that does not lead.
 */
import { needsComparison } from "../assess/compared.ts";
import { seemsHealthy } from "../assess/out-of-reach.ts";
import { CAUSES } from "../messages/causes.ts";
import { act, hold, update } from "../steps/outcome.ts";
import type { Outcome } from "../action.ts";
import { HOLDS } from "../steps/hold-classes.ts";
import type { Rule } from "../rule.ts";
import { survivesRemoval } from "../quorum.ts";
import type { MemberRole } from "../record.ts";
import { wantedLearners } from "../assess/size.ts";
import { hasLeft, healthyVotersBut, type MemberView, type View } from "../view.ts";

export const scaleIn: Rule = (view) => {
  if (!view.established || !view.hasQuorum) return [];
  if (view.members.some((member) => member.record.leaving && !hasLeft(view, member))) return [];

  const byHand = view.staying.find((member) => member.deleting && !member.record.retiring);
  if (byHand) {
    const retire = update(byHand, "retire", { retiring: { reason: CAUSES.deletedByHand } });
    return [act("heal", "DeletedByHand", { member: byHand.name }, retire)];
  }
  return surplus(view, "Voter", view.spec.replicas) ?? surplus(view, "Learner", wantedLearners(view)) ?? [];
};

function surplus(view: View, role: MemberRole, wanted: number): readonly Outcome[] | undefined {
  const members = view.staying.filter((member) => member.record.role === role);
  const retiring = members.filter((member) => member.record.retiring);
  const active = members.filter((member) => !member.record.retiring);
  const serving = active.filter((member) => member.healthy && (role === "Learner" || member.isVoter)).length;

  if (active.length > wanted)
    return [
      leave(
        view,
        leastUseful(active),
        CAUSES.fewerWanted(role === "Voter" ? "replicas" : "learners", wanted),
      ),
    ];
  // One that has no vote yet is replaced by nobody: the newcomer would wait for it to vote, and it for the newcomer.
  const [old] = retiring.toSorted((a, b) => Number(a.isVoter) - Number(b.isVoter));
  const isNoLoss = role === "Voter" && old?.isVoter === false;
  if (old && (serving >= wanted || isNoLoss))
    return [leave(view, old, old.record.retiring?.reason ?? CAUSES.retired)];
  return undefined;
}

function leastUseful(members: readonly MemberView[]): MemberView {
  // One that only we do not see is no less useful than others (H16).
  const rank = (member: MemberView) =>
    member.isLeader ? 3 : !seemsHealthy(member) ? 0 : !member.isVoter ? 1 : 2;
  const [first] = members.toSorted((a, b) => rank(a) - rank(b) || b.record.ordinal - a.record.ordinal);
  if (!first) throw new RangeError("no member to choose from");
  return first;
}

function leave(view: View, member: MemberView, cause: string): Outcome {
  const why = { member: member.name, cause };
  if (member.isVoter && !survivesRemoval(view.voters, healthyVotersBut(view, member)))
    return hold(HOLDS.removalsAndDisruptions, "RemovalAwaitsVoters", why);
  // Each removal deletes a copy: first make sure that those which stay are good ones.
  if (member.isVoter && member.healthy && needsComparison(view)) {
    return act("shrink", "ComparedBeforeRemoval", {}, { kind: "CompareHashes" });
  }
  const leaving = { reason: cause, volume: view.spec.storage.retention.onScaleIn };
  return act("shrink", "MemberTooMany", why, update(member, "leave", { leaving }));
}
