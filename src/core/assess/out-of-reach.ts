/**
 * Members that serve everybody but us (H16): what may still be done about them, what a person can approve, and what is
 * said of them. None is replaced or restarted because we cannot see it.
 */
import { millisecondsOf } from "../../api/duration.ts";
import { ANSWERS, sayUnreachable, type Approval, type Unreachable } from "../messages/unreachable.ts";
import { quorum } from "../quorum.ts";
import { approvable } from "./approvals.ts";
import { causeOf } from "./reach.ts";
import { isOrWasVoter, namesOf, type MemberView, type View } from "../view.ts";

/** As far as anybody can tell, it serves. */
export function seemsHealthy({ healthy, outOfReach }: MemberView): boolean {
  return healthy || outOfReach;
}

/** The voters that have a record; by their records while nobody lists them. Founders vote from the start. */
function votersOf(view: View): MemberView[] {
  return view.established
    ? view.members.filter((member) => isOrWasVoter(view, member))
    : view.staying.filter(({ record }) => record.role === "Voter");
}

export function voterCount(view: View): number {
  return view.voters || votersOf(view).length;
}

/** How many voters other than this one serve, as far as anybody can tell. */
export function wellVotersBut(view: View, member: MemberView): number {
  return votersOf(view).filter((other) => other !== member && seemsHealthy(other)).length;
}

/** The voters that we do not see, where we see no quorum and there seems to be one; empty otherwise. */
export function hiddenQuorum(view: View): readonly MemberView[] {
  if (view.hasQuorum) return [];
  const well = votersOf(view).filter(seemsHealthy);
  return well.length >= quorum(voterCount(view)) ? well.filter((member) => member.outOfReach) : [];
}

/** What a person can let us do with one member although we do not see it. */
type Risky = Approval["what"];

/**
 * An approval stays on the cluster after it was used. So that one moment in which the member does not answer is not
 * taken for what the person saw, it counts only for one that has been out of reach, or down, for a while.
 */
export function isApproved(view: View, what: Risky, member: MemberView): boolean {
  return isApprovalGiven(view, what, member) && view.now >= approvalCountsAt(view, what, member);
}

/** The approval is there, whether or not it counts yet. */
export function isApprovalGiven(view: View, what: Risky, { name }: MemberView): boolean {
  return view.observation.cluster.approved === `${what}-${name}`;
}

export function approvalCountsAt(view: View, what: Risky, { unhealthySince }: MemberView): number {
  return (unhealthySince ?? view.now + 1) + millisecondsOf(waitOf(view, what));
}

function waitOf({ spec }: View, what: Risky): string {
  return what === "replace" ? spec.repair.memberLostAfter : spec.repair.unhealthyAfter;
}

/** The approval of this step on this member, as messages tell of it. */
export function approvalOf(view: View, what: Risky, { name }: MemberView): Approval {
  const given = approvable(view.observation, `${what}-${name}`);
  return { what, member: name, after: waitOf(view, what), given };
}

/** Who cannot be reached, with what failure, and who says that they serve nevertheless. */
export function unreachable(members: readonly MemberView[]): Unreachable {
  const causes = new Set(members.map(({ answer }) => causeOf(answer)));
  return {
    members: namesOf(members),
    errors: [...new Set(members.map(errorOf))],
    cause: LIKELIEST.find((cause) => causes.has(cause)) ?? "unknown",
    ready: members.every(({ workload }) => workload.state === "running" && workload.ready === true),
    seenByPeers: members.every(({ seenByPeers }) => seenByPeers === true),
  };
}

export function whyUnreachable(members: readonly MemberView[]): string {
  return sayUnreachable(unreachable(members));
}

/** Where several fail in several ways, the one that says most about where to look. */
const LIKELIEST = ["authentication", "certificate", "network"] as const;

function errorOf({ answer }: MemberView): string {
  if (!answer.reachable) return answer.error;
  return answer.refused ? ANSWERS.refused : ANSWERS.slow;
}
