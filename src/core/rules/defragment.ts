/**
 * Gives free pages back (R29): one member at a time, followers first and the leader last, only while all
 * are healthy and nobody joins, and never where it would take longer than liveness allows (H12).
 */
import { millisecondsOf } from "../../api/duration.ts";
import { bytesOf } from "../../api/quantity.ts";
import { CAUSES } from "../messages/causes.ts";
import { act, hold, update } from "../steps/outcome.ts";
import type { Outcome } from "../action.ts";
import { HOLDS } from "../steps/hold-classes.ts";
import type { Rule } from "../rule.ts";
import { mayDefragment } from "../assess/liveness.ts";
import { followersFirst, hasLeft, type MemberView, type View } from "../view.ts";
import { nextOpening } from "../assess/window.ts";

/** A member is left in peace this long after a defragmentation, whatever its sizes say. */
const REST_MS = 600_000;

/** A learner that is made anew may be as large again, from the leader's log: not more often than this. */
const LEARNER_REST_MS = 24 * 3_600_000;

export const defragment: Rule = (view) => {
  const { auto, window } = view.spec.maintenance.defrag;
  if (!auto || !view.established || !view.hasQuorum) return [];
  const members = view.members.filter((member) => !hasLeft(view, member));
  if (members.some((member) => !member.healthy || !member.record.joined || member.record.leaving)) return [];

  const fragmented = members.filter((member) => isFragmented(view, member));
  const [large, small] = partition(fragmented.filter((member) => member.isVoter));
  const [next] = followersFirst(small);
  const bloated = fragmented.find((member) => mayBeReplaced(view, member));
  const step = next ? giveBack(next) : bloated && replaceLearner(bloated);
  if (!step) return large.map(tooLarge);
  const opening = window ? nextOpening(window, view.now, millisecondsOf(window.duration)) : view.now;
  if (opening > view.now) {
    const member = (next ?? bloated)?.name ?? "";
    return [hold(HOLDS.nothing, "DefragmentationAwaitsWindow", { member, at: opening }, { until: opening })];
  }
  return [step];
};

function isFragmented(view: View, { answer, name }: MemberView): boolean {
  const { freeAbove, ratioAbove } = view.spec.maintenance.defrag;
  if (!answer.reachable || answer.dbSize === 0) return false;
  if (view.now - (view.observation.etcd.defragmentedAt[name] ?? 0) < REST_MS) return false;
  const free = answer.dbSize - answer.dbSizeInUse;
  return free > bytesOf(freeAbove) && free / answer.dbSize > ratioAbove;
}

function giveBack({ name }: MemberView): Outcome {
  return act("maintain", "Defragmented", { member: name }, { kind: "Defragment", member: name });
}

/** A learner refuses to be defragmented (H8). */
function mayBeReplaced(view: View, { record, isVoter }: MemberView): boolean {
  return !isVoter && record.role === "Learner" && view.now - record.createdAt >= LEARNER_REST_MS;
}

function replaceLearner(learner: MemberView): Outcome {
  const leaving = { reason: CAUSES.learnerFragmented, volume: "Delete" as const };
  return act(
    "maintain",
    "FragmentedLearnerReplaced",
    { member: learner.name },
    update(learner, "leave", { leaving }),
  );
}

/** Those whose defragmentation would outlast the patience of liveness, and the others (H12). */
function partition(members: readonly MemberView[]): [large: MemberView[], small: MemberView[]] {
  const fits = ({ answer, record }: MemberView) =>
    answer.reachable && mayDefragment(record.template.options, answer.dbSize);
  return [members.filter((member) => !fits(member)), members.filter(fits)];
}

function tooLarge({ name }: MemberView): Outcome {
  return hold(HOLDS.nothing, "TooLargeToDefragment", { member: name });
}
