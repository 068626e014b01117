/**
 * Members that serve everybody but us (H16): what may still be done about them, what a person can approve, and what is
 * said of them. None is replaced or restarted because we cannot see it.
 */
import { millisecondsOf } from "../../api/duration.ts";
import type { UnreachableCause } from "../observation.ts";
import { quorum } from "../quorum.ts";
import { causeOf } from "./reach.ts";
import { isOrWasVoter, names, type MemberView, type View } from "../view.ts";

/** As far as anybody can tell, it serves. */
export function seemsWell({ healthy, outOfReach }: MemberView): boolean {
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
  return votersOf(view).filter((other) => other !== member && seemsWell(other)).length;
}

/** The voters that we do not see, where we see no quorum and there seems to be one; empty otherwise. */
export function hiddenQuorum(view: View): readonly MemberView[] {
  if (view.hasQuorum) return [];
  const well = votersOf(view).filter(seemsWell);
  return well.length >= quorum(voterCount(view)) ? well.filter((member) => member.outOfReach) : [];
}

/** What a person can let us do with one member although we do not see it. */
export type Approvable = "replace" | "restart";

/**
 * An approval stays on the cluster after it was used. So that one moment in which the member does not answer is not
 * taken for what the person saw, it counts only for one that has been out of reach, or down, for a while.
 */
export function isApproved(view: View, what: Approvable, member: MemberView): boolean {
  return isWordGiven(view, what, member) && view.now >= approvalCountsAt(view, what, member);
}

/** The approval is there, whether or not it counts yet. */
export function isWordGiven(view: View, what: Approvable, { name }: MemberView): boolean {
  return view.observation.cluster.approved === `${what}-${name}`;
}

export function approvalCountsAt(view: View, what: Approvable, { unhealthySince }: MemberView): number {
  return (unhealthySince ?? view.now + 1) + millisecondsOf(waitOf(view, what));
}

function waitOf({ spec }: View, what: Approvable): string {
  return what === "replace" ? spec.repair.memberLostAfter : spec.repair.unhealthyAfter;
}

/** How the approval is given and when it counts, as the end of a sentence. */
export function howToApprove(view: View, what: Approvable, { name }: MemberView): string {
  const word = `${what}-${name}`;
  return `annotate the cluster with etcd.quorate.dev/approve=${word}, or run quorate local approve ${word}; this counts once ${name} has been out of reach for ${waitOf(view, what)}`;
}

/** What is the case: who cannot be reached, with what failure, and who says that they serve nevertheless. */
export function whyUnreachable(members: readonly MemberView[]): string {
  const errors = [...new Set(members.map(errorOf))].join("; ");
  const one = members.length === 1;
  const ready = members.every(({ workload }) => workload.state === "running" && workload.ready === true);
  const seen = members.every(({ seenByPeers }) => seenByPeers === true);
  const whose = one ? "its" : "their";
  const witnesses = [
    ...(ready ? [one ? "its Pod is Ready" : "their Pods are Ready"] : []),
    ...(seen ? [`${whose} peers are connected to ${one ? "it" : "them"}`] : []),
  ];
  const why = witnesses.length > 0 ? `, but ${witnesses.join(" and ")}` : `, but ${whose} etcd answers`;
  return `the operator cannot reach etcd on ${names(members)} (${errors})${why}`;
}

function errorOf({ answer }: MemberView): string {
  if (!answer.reachable) return answer.error;
  return answer.refused
    ? "its requests are refused: authentication is enabled"
    : "it was too slow to answer a linearizable read";
}

const LOOK_AT: Readonly<Record<UnreachableCause, string>> = {
  network:
    "Check what may keep the operator from the client port of these members: a network policy, a firewall, or the network of its node",
  certificate:
    "Check the operator's client certificate and the client CA: one side refuses the certificate of the other",
  authentication:
    "Grant the role root to an etcd user named as the common name of the operator's client certificate, or disable authentication (etcdctl auth disable)",
  unknown: "Check what keeps the operator from the client port of these members",
};

/** Where to look, from the kinds of failure. */
export function whereToLook(members: readonly MemberView[]): string {
  const causes = new Set(members.map(({ answer }) => causeOf(answer)));
  const order = ["authentication", "certificate", "network"] as const;
  return LOOK_AT[order.find((cause) => causes.has(cause)) ?? "unknown"];
}
