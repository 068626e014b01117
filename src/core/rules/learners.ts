/**
 * Learners that are meant to vote are promoted when they have caught up: etcd asks for 90 % of the leader's
 * log, which is loose on a long one, so the applied index is compared too (R18). One voter change at a
 * time, and only while every voter is healthy (I2).
 */
import { act, hold } from "../steps/outcome.ts";
import { HOLDS } from "../steps/hold-classes.ts";
import type { Rule } from "../rule.ts";
import { closeEnough } from "../assess/learner-lag.ts";
import { survivesPromotion } from "../quorum.ts";
import { namesOf, raftLag, unhealthyVoters, type MemberView } from "../view.ts";

const RETRY_MS = 1000;
/** How soon a platform may have confirmed what a restart would read. */
const CONFIRMED_MS = 250;

export const learners: Rule = (view) => {
  if (!view.established || !view.hasQuorum) return [];
  const waiting = view.staying.filter(
    (member) =>
      member.record.joined &&
      member.record.role === "Voter" &&
      member.entry?.isLearner &&
      !member.record.retiring,
  );
  if (waiting.length === 0) return [];
  // The spec may have shrunk meanwhile: scale-in then takes these first, and they need no vote.
  const votersMeant = view.staying.filter((member) => member.isVoter && !member.record.retiring).length;
  if (votersMeant >= view.spec.replicas) return [];

  // One of ours that no record stands for may be down as well: nobody sees whether it is well.
  const ghosts = view.unrecorded.filter(({ ours, isLearner }) => ours && !isLearner);
  const down = unhealthyVoters(view);
  if (down.length > 0 || ghosts.length > 0 || !survivesPromotion(view.voters, view.healthyVoters)) {
    return [
      hold(HOLDS.needingAllVoters, "PromotionAwaitsVoters", {
        members: namesOf(waiting),
        down: namesOf(down),
        unrecorded: ghosts.map(({ name, id }) => name || id),
      }),
    ];
  }
  const lag = (member: MemberView) => (member.healthy ? raftLag(view, member) : undefined);
  const caughtUp = waiting.filter((member) => (lag(member) ?? Infinity) <= closeEnough(view));
  // An emptied learner that starts over has promised nothing yet; a voter would vote without its memory (H3, I4).
  const ready = caughtUp.find(({ unconfirmed }) => !unconfirmed);
  if (ready?.entry) {
    return [
      act(
        "promote",
        "LearnerPromoted",
        { member: ready.name },
        { kind: "Promote", member: ready.name, memberID: ready.entry.id },
      ),
    ];
  }
  if (caughtUp.length > 0)
    return [
      hold(
        HOLDS.joinsAndDisruptions,
        "PromotionAwaitsNode",
        { members: namesOf(caughtUp) },
        { until: view.now + CONFIRMED_MS },
      ),
    ];
  const learners = waiting.map((member) => ({ member: member.name, behind: lag(member) }));
  return [hold(HOLDS.joinsAndDisruptions, "LearnersBehind", { learners }, { until: view.now + RETRY_MS })];
};
