/**
 * Fenced members keep running and voting, but should not lead, and clients are not sent to them. Leadership goes to a
 * healthy voter that is not fenced; where there is none it stays, since somebody has to lead. This rule stands after
 * those that restart or remove a leader: they may hand over to a fenced member for want of another, and go on before
 * leadership is brought back here.
 */
import { shutOut } from "../assess/fencing.ts";
import { successor } from "../assess/successor.ts";
import { HOLDS } from "../steps/hold-classes.ts";
import { act, holdFor } from "../steps/outcome.ts";
import type { Rule } from "../rule.ts";

export const fence: Rule = (view) => {
  if (!view.established || !view.hasQuorum) return [];
  const { leader } = view;
  const next = leader?.fenced ? successor(view, leader) : undefined;
  if (leader && next?.entry && !next.fenced) {
    return [
      act(
        "heal",
        "LeaderFenced",
        { member: leader.name, next: next.name },
        { kind: "MoveLeader", member: next.name, memberID: next.entry.id },
      ),
    ];
  }
  const why = shutOut(view);
  return why ? [holdFor(HOLDS.nothing, why, { unfinished: true })] : [];
};
