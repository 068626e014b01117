/**
 * An unhealthy member whose template is not the right one is given the right one, also while the cluster
 * is degraded: the edit that would make it healthy must never wait for health. A canary that cannot run
 * its new template is put back to what its siblings run, and the target is remembered as failed.
 */
import { millisecondsOf } from "../../api/duration.ts";
import { awaitSnapshot } from "../assess/await-snapshot.ts";
import { approvalOf, hiddenQuorum, isApproved } from "../assess/out-of-reach.ts";
import { CAUSES } from "../messages/causes.ts";
import type { Unmoved } from "../messages/transitions.ts";
import { sayTrouble } from "../messages/trouble.ts";
import { act, hold, update } from "../steps/outcome.ts";
import type { Outcome } from "../action.ts";
import { HOLDS } from "../steps/hold-classes.ts";
import type { Rule } from "../rule.ts";
import type { MemberTemplate } from "../record.ts";
import { survivesRestart } from "../quorum.ts";
import { dataAllows, hasFailed, lastGood, targetOf } from "../template/target.ts";
import { movesPeer } from "../template/peer-plane.ts";
import { peerURLOf } from "../config/flags.ts";
import { sameTemplate, templateHash, transition } from "../template/template.ts";
import { fitted, isTemplateFault, lacksImage } from "../assess/template-fault.ts";
import { triedBy } from "../assess/trial.ts";
import { troubleOf } from "../assess/trouble.ts";
import { healthyVotersBut, isOrWasVoter, isStartedUnchecked, type MemberView, type View } from "../view.ts";

/** A template fault is believed at its second exit, any other trouble after `repair.unhealthyAfter`. */
const CERTAIN_AFTER_RESTARTS = 2;

export const retemplate: Rule = (view) => {
  const waits: Outcome[] = [];
  for (const member of view.staying) {
    if (member.healthy || member.record.retiring || !member.record.run) continue;
    if (member.outOfReach && !mayTouchUnseen(view, member)) continue;
    if (lacksEvidence(view, member)) continue;
    // It would be ended by etcd's check again; the rollout gives it what the spec asks for when it is well.
    if (isStartedUnchecked(view, member) && !isTemplateFault(member)) continue;
    const outcomes = needsOtherVolume(view, member) ? [another(member)] : mended(view, member);
    if (outcomes.some((outcome) => "act" in outcome)) return [...waits, ...outcomes];
    waits.push(...outcomes);
  }
  return waits.slice(0, 1);
};

/**
 * One that serves everybody but us is left as it is (H16). It may be our own edit that hides it: that can be taken back
 * where its siblings, which we see, keep quorum without it. Everything else is for a person to approve.
 */
function mayTouchUnseen(view: View, member: MemberView): boolean {
  if (isApproved(view, "restart", member)) return true;
  if (!view.hasQuorum || !survivesRestart(view.voters, healthyVotersBut(view, member))) return false;
  const wanted = targetOf(view).template;
  const good = lastGood(view, member);
  return wanted !== undefined && good !== undefined && sameTemplate(wanted, good);
}

/**
 * It runs, and we see neither it nor the quorum that others vouch for: that it is not Ready for a moment is too little
 * to restart it by. Sight comes first, or a person's word (H16).
 */
function lacksEvidence(view: View, member: MemberView): boolean {
  if (member.workload.state !== "running" || member.answer.reachable) return false;
  return hiddenQuorum(view).length > 0 && !isApproved(view, "restart", member);
}

/**
 * It was told to join and may not start yet, since its volume does not come; and by now the spec asks for another
 * volume, so that waiting for this one keeps the very edit back that would help.
 */
function needsOtherVolume(view: View, { record, volume }: MemberView): boolean {
  const isWaiting =
    record.boot === "Join" && !record.joined && record.volumeUID === undefined && volume.state !== "ready";
  if (!isWaiting || !view.established || !view.hasQuorum) return false;
  const { template } = targetOf(view);
  if (template === undefined) return false;
  return transition(record.template, template, { hasData: false }) === "swap" && !hasFailed(view, template);
}

/** Nothing was ever on its volume. */
function another(member: MemberView): Outcome {
  const leaving = { reason: CAUSES.otherVolumeAsked, volume: "Delete" as const };
  return act("revert", "OtherVolumeAsked", { member: member.name }, update(member, "leave", { leaving }));
}

/** Another minor version may be what it needs: that comes after the snapshot, which this wait asks for. */
function mended(view: View, member: MemberView): readonly Outcome[] {
  const outcomes = mend(view, member);
  const { awaited } = targetOf(view);
  if (outcomes.length > 0 || !awaited || !fails(view, member)) return outcomes;
  const { template } = awaited;
  if (hasFailed(view, template) || !mayRun(view, member, template)) return [];
  return [awaitSnapshot(view, template.version, awaited)];
}

function mend(view: View, member: MemberView): readonly Outcome[] {
  const wanted = targetOf(view).template;
  const { template } = member.record;
  if (!fails(view, member)) return [];

  const isOther = wanted !== undefined && !sameTemplate(template, wanted) && !hasFailed(view, wanted);
  if (isOther && mayRun(view, member, wanted) && !isTriedAlready(view, member, wanted)) {
    const first = isApproved(view, "restart", member)
      ? undefined
      : (triedBy(view, member, wanted) ?? failedBy(view, member, wanted));
    if (first) return [awaitTrial(view, member, first)];
    return [
      act(
        "revert",
        "UnhealthyGivenTarget",
        { member: member.name },
        update(member, "revert", { template: wanted }),
      ),
    ];
  }
  const good = fitted(member, lastGood(view, member));
  if (!good && (isTemplateFault(member) || lacksImage(member))) return alone(view, member, wanted);
  if (!good || sameTemplate(template, good) || !mayRun(view, member, good))
    return isOther && mayFollow(view, member, wanted) ? awaitMove(view, member, wanted) : [];
  const trouble = troubleOf(member);
  if (!view.spec.update.canary) {
    return [hold(HOLDS.rollouts, "NotHealthyWithTarget", { member: member.name, trouble })];
  }
  if (wanted && sameTemplate(template, wanted) && !hasFailed(view, wanted)) {
    const failedTarget = {
      hash: templateHash(wanted),
      member: member.name,
      reason: sayTrouble(trouble),
    };
    return [
      act(
        "record",
        "TargetFailedOnce",
        { member: member.name, trouble },
        { kind: "MarkCluster", purpose: "target-failed", change: { failedTarget } },
      ),
    ];
  }
  return [
    act("revert", "MemberRolledBack", { member: member.name }, update(member, "revert", { template: good })),
  ];
}

function awaitTrial(view: View, member: MemberView, first: MemberView): Outcome {
  return hold(HOLDS.rollouts, "TrialAwaited", {
    first: first.name,
    trouble: troubleOf(first),
    approval: approvalOf(view, "restart", member),
  });
}

/**
 * Without a canary no mark says that this template fails, and the member that shows it keeps it. One that is down for
 * another reason would only lose its way back.
 */
function failedBy(view: View, member: MemberView, template: MemberTemplate): MemberView | undefined {
  if (view.spec.update.canary || isTemplateFault(member)) return undefined;
  return view.staying.find(
    (other) =>
      other !== member &&
      other.record.run &&
      sameTemplate(other.record.template, template) &&
      (isTemplateFault(other) || lacksImage(other)) &&
      fails(view, other),
  );
}

/**
 * It answers and only lacks the others, and another one that was given this template does not come up with it: in
 * a cluster of two, the one that still could run would be lost as well.
 */
function isTriedAlready(view: View, member: MemberView, template: MemberTemplate): boolean {
  return (
    member.answer.reachable &&
    view.staying.some(
      (other) =>
        other !== member &&
        other.record.run &&
        !other.answer.reachable &&
        sameTemplate(other.record.template, template) &&
        fails(view, other),
    )
  );
}

function fails(view: View, member: MemberView): boolean {
  const { workload, unhealthySince } = member;
  if (workload.state === "exited" && isTemplateFault(member))
    return workload.restarts >= CERTAIN_AFTER_RESTARTS;
  if (workload.state === "stopping" || !member.upToDate) return false;
  // What keeps its workload from being made may be its template, unless it is its volume that is missing.
  if (workload.state === "absent" && member.volume.state !== "ready") return false;
  return (
    unhealthySince !== undefined &&
    view.now - unhealthySince >= millisecondsOf(view.spec.repair.unhealthyAfter)
  );
}

/**
 * Nobody runs anything better to go back to. What the spec asks for by now is tried as far as the volume can
 * follow; otherwise only a person can say what it should be.
 */
function alone(view: View, member: MemberView, wanted: MemberTemplate | undefined): readonly Outcome[] {
  const { template } = member.record;
  const fitting = wanted && { ...wanted, storage: template.storage };
  if (fitting && !sameTemplate(template, fitting) && mayRun(view, member, fitting)) {
    return [
      act(
        "revert",
        "OnlyMemberGivenTarget",
        { member: member.name },
        update(member, "revert", { template: fitting }),
      ),
    ];
  }
  return [hold(HOLDS.rollouts, "CannotRunTemplate", { member: member.name, trouble: troubleOf(member) })];
}

function mayRun(view: View, member: MemberView, template: MemberTemplate): boolean {
  return mayFollow(view, member, template) && whyNotMoved(view, member, template) === undefined;
}

/** The volume must be able to follow (I4), and the data must allow the version (R13, H5). */
function mayFollow(view: View, { record }: MemberView, template: MemberTemplate): boolean {
  if (transition(record.template, template, { hasData: record.joined }) === "swap") return false;
  return !view.established || dataAllows(view, template.version);
}

/**
 * Peers must find it. The URL of a learner stays (R9), and so does one that others were told of one that has not joined.
 * Without a quorum etcd cannot be told: one that listens otherwise than it is listed reaches the others all the same
 * (R52), but two such never reach each other.
 */
function whyNotMoved(view: View, member: MemberView, template: MemberTemplate): Unmoved | undefined {
  if (!movesPeer(member.record.template, template)) return undefined;
  if (!member.record.joined) return "unjoined";
  if (!isOrWasVoter(view, member)) return "learner";
  const others = view.staying.filter((other) => other !== member && isOrWasVoter(view, other));
  const isKnown = others.every(({ entry, record }) => entry?.peerURLs.includes(peerURLOf(record)));
  return view.hasQuorum || isKnown ? undefined : "quorum";
}

/** What might help it waits, and nobody would know why. */
function awaitMove(view: View, member: MemberView, wanted: MemberTemplate): readonly Outcome[] {
  const because = whyNotMoved(view, member, wanted);
  return because ? [hold(HOLDS.rollouts, "MendMovesPeer", { member: member.name, because })] : [];
}
