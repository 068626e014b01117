/**
 * Learners that are meant to vote are promoted when they have caught up: etcd asks for 90 % of the leader's
 * log, which is loose on a long one, so the applied index is compared too (R18). One voter change at a
 * time, and only while every voter is healthy (I2).
 */
import { act, hold } from "../outcome.ts";
import type { Rule } from "../rule.ts";
import { closeEnough } from "../assess/learner-lag.ts";
import { survivesPromotion } from "../quorum.ts";
import { names, raftLag, unhealthyVoters, type MemberView } from "../view.ts";

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

  const down = unhealthyVoters(view);
  if (down.length > 0 || !survivesPromotion(view.voters, view.healthyVoters)) {
    return [
      hold({
        classes: ["join", "promote", "roll", "maintain"],
        reason: "MemberUnhealthy",
        message: `${names(waiting)} can vote once ${names(down)} is healthy or replaced`,
      }),
    ];
  }
  const lag = (member: MemberView) => (member.healthy ? raftLag(view, member) : undefined);
  const caughtUp = waiting.filter((member) => (lag(member) ?? Infinity) <= closeEnough(view));
  // An emptied learner that starts over has promised nothing yet; a voter would vote without its memory (H3, I4).
  const ready = caughtUp.find(({ unconfirmed }) => !unconfirmed);
  if (ready?.entry) {
    return [
      act("promote", `${ready.name} has caught up`, {
        kind: "Promote",
        member: ready.name,
        memberID: ready.entry.id,
      }),
    ];
  }
  if (caughtUp.length > 0)
    return [
      hold({
        classes: ["join", "roll", "maintain"],
        reason: "MemberStarting",
        message: `${names(caughtUp)} can vote once its node has picked up the configuration for later restarts`,
        until: view.now + CONFIRMED_MS,
      }),
    ];
  const behind = waiting
    .map((member) => `${member.name} (${lag(member) ?? "unknown"} entries behind)`)
    .join(", ");
  return [
    hold({
      classes: ["join", "roll", "maintain"],
      reason: "LearnerBehind",
      message: `waiting for ${behind} to catch up with the leader`,
      until: view.now + RETRY_MS,
    }),
  ];
};
