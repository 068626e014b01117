/**
 * Fewer members than wanted: newcomers join as learners. One at a time below 3.6; from 3.6 on, where every
 * member runs with the same learner limit, all that are missing join together (H1), which saves etcd's
 * five quiet seconds between two adds (R19).
 */
import { act, hold } from "../steps/outcome.ts";
import type { NewMemberRecord, Outcome } from "../action.ts";
import { HOLDS } from "../steps/hold-classes.ts";
import type { Rule } from "../rule.ts";
import { memberName, type MemberRole } from "../record.ts";
import { newcomerTemplate } from "../template/target.ts";
import { hasLeft, namesOf, unhealthyVoters, type View } from "../view.ts";
import { newcomersBlocked } from "../assess/unmade.ts";
import { noAddress, offer } from "../assess/newcomer.ts";
import { batchIsOpen, joining, missingRole } from "../assess/size.ts";

export const scaleOut: Rule = (view) => {
  if (!view.established || !view.hasQuorum) return [];
  const role = missingRole(view);
  if (!role) return [];

  // Names are never reused, so nothing that is left of a member which etcd has let go is in the way.
  const leaving = view.members.filter((member) => member.record.leaving && !hasLeft(view, member));
  if (leaving.length > 0) {
    return [hold(HOLDS.joins, "NextAwaitsRemoval", { leaving: namesOf(leaving) })];
  }
  const down = unhealthyVoters(view);
  if (down.length > 0) {
    return [hold(HOLDS.joinsAndDisruptions, "NextAwaitsVoters", { down: namesOf(down) })];
  }
  const coming = joining(view);
  if (coming.length > 0 && !batchIsOpen(view)) {
    return [hold(HOLDS.joinsAndDisruptions, "NextAwaitsJoiner", { joining: namesOf(coming) })];
  }
  if (coming.length > 0 && !view.observation.cluster.marks.batchJoined) {
    return [
      act(
        "record",
        "BatchRecorded",
        {},
        { kind: "MarkCluster", purpose: "remember-batch", change: { batchJoined: true } },
      ),
    ];
  }
  return [newcomersBlocked(view) ?? create(view, role)];
};

function create(view: View, role: MemberRole): Outcome {
  const ordinal = view.nextOrdinal;
  const name = memberName(view.observation.cluster.name, ordinal);
  const address = offer(view, ordinal);
  const template = newcomerTemplate(view);
  if (!address || !template) return noAddress();
  const record: NewMemberRecord = {
    name,
    ordinal,
    role,
    token: view.token,
    boot: "Join",
    address,
    initialCluster: [],
    joined: false,
    run: true,
    template,
  };
  return act("join", "MemberCreated", { member: name, role }, { kind: "CreateMember", member: name, record });
}
