/**
 * How many members are wanted, how many are on their way, and whether several may join together. One place,
 * since scaling out, scaling in and finishing joins must agree on it.
 */
import { MAX_LEARNERS } from "./learner-limit.ts";
import type { MemberRole } from "../record.ts";
import { hasFailed, targetOf } from "../template/target.ts";
import { isVolatile } from "../template/template.ts";
import { minorNumber } from "../version/version.ts";
import { hasLeft, unhealthyVoters, type MemberView, type View } from "../view.ts";

/** Members that stay and are not being replaced. */
export function active(view: View, role: MemberRole): MemberView[] {
  return view.staying.filter((member) => member.record.role === role && !member.record.retiring);
}

/** Every member runs 3.6 or newer, hence with our one learner limit. */
function allTakeManyLearners(view: View): boolean {
  const members = view.members.filter((member) => !hasLeft(view, member));
  return members.every((member) => minorNumber(member.record.template.version) >= minorNumber("3.6"));
}

/** May one more learner be added to etcd's list? Below 3.6 there is one place; with unequal limits none is safe (H1). */
export function hasRoomForLearner(view: View): boolean {
  const learners = (view.observation.etcd.list?.members ?? []).filter((entry) => entry.isLearner).length;
  return learners < (allTakeManyLearners(view) ? MAX_LEARNERS : 1);
}

/** Below 3.6 there is one learner place, and a voter that has to join needs it more (H8). */
export function wantedLearners(view: View): number {
  if (isSwappedBelow(view)) return 0;
  if (allTakeManyLearners(view)) return view.spec.learners;
  const voting = active(view, "Voter").filter((member) => member.isVoter).length;
  const complete = voting >= view.spec.replicas && !view.staying.some((member) => member.record.retiring);
  return complete ? Math.min(1, view.spec.learners) : 0;
}

/**
 * Voters whose restart would lose their data are replaced by newcomers of an older minor (H4), with which the one place
 * begins: a standing learner that was replaced before them would be in its own way, again and again.
 */
function isSwappedBelow(view: View): boolean {
  const { template } = targetOf(view);
  return (
    template !== undefined &&
    isVolatile(template) &&
    minorNumber(template.version) < minorNumber("3.6") &&
    !hasFailed(view, template) &&
    view.staying.some(
      ({ record, isVoter }) => isVoter && minorNumber(record.template.version) >= minorNumber("3.6"),
    )
  );
}

/** Which kind of member is missing next; voters come first. */
export function missingRole(view: View): MemberRole | undefined {
  if (active(view, "Voter").length < view.spec.replicas) return "Voter";
  if (active(view, "Learner").length < wantedLearners(view)) return "Learner";
  return undefined;
}

/** Members that are not yet what they are meant to be. */
export function joining(view: View): MemberView[] {
  return view.staying.filter(
    ({ record, isVoter }) =>
      record.boot === "Join" && (!record.joined || (record.role === "Voter" && !isVoter)),
  );
}

/**
 * May one more newcomer be recorded, before the first of them is added to etcd? All who join together are known
 * before the first add: whether etcd 3.5 could replay what follows must be on record by then (H1).
 */
export function batchIsOpen(view: View): boolean {
  const coming = joining(view);
  return (
    coming.length > 0 &&
    missingRole(view) !== undefined &&
    allTakeManyLearners(view) &&
    coming.every((member) => !member.entry) &&
    !view.members.some((member) => member.record.leaving && !hasLeft(view, member)) &&
    unhealthyVoters(view).length === 0
  );
}
