/**
 * Quorum is lost, not there yet, or hidden from us alone (H16). Nothing that needs it is tried; what is missing is
 * said, and whether the data is still somewhere. Never a new, empty cluster in place of the old one (I3).
 */
import { acceptingWord, approvable } from "../assess/approvals.ts";
import type { Loss, Recovery } from "../messages/approvals.ts";
import type { SilentNodes, Unread } from "../messages/reading.ts";
import { automaticChoice, isAutomatic } from "../assess/automatic-recovery.ts";
import { isWithoutData } from "../assess/lost-data.ts";
import { isOnNodeOff, nodesToBeOff } from "../assess/nodes-off.ts";
import { approvalOf, hiddenQuorum, unreachable } from "../assess/out-of-reach.ts";
import { preferredInstead } from "../assess/recovery-alternative.ts";
import { isAway, recoveryPlan, type RecoveryPlan } from "../assess/recovery-plan.ts";
import { hold } from "../steps/outcome.ts";
import { HOLDS } from "../steps/hold-classes.ts";
import type { Rule } from "../rule.ts";
import { quorum } from "../quorum.ts";
import { isOrWasVoter, namesOf, type MemberView, type View } from "../view.ts";

export const quorumLost: Rule = (view) => {
  const hidden = hiddenQuorum(view);
  const [first] = hidden;
  if (first) {
    return [
      hold(HOLDS.everything, "QuorumHidden", {
        unreachable: unreachable(hidden),
        approval: approvalOf(view, "restart", first),
      }),
    ];
  }
  if (!view.established || view.hasQuorum) return [];
  const voters = view.members.filter((member) => isOrWasVoter(view, member));
  const gone = voters.filter(isWithoutData(view));
  const size = view.voters || voters.length;
  const needed = quorum(size);
  if (voters.length > 0 && gone.length === voters.length) {
    return [hold(HOLDS.everything, "AllDataGone", { size, gone: namesOf(gone), loss: lossOf(view, gone) })];
  }
  const healthy = voters.filter((member) => member.healthy);
  const plan = recoveryPlan(view);
  // What a silent node has may return; what no node can use does not return by itself.
  const nodesOff = nodesToBeOff(view);
  const away = voters.filter(
    (member) => !gone.includes(member) && isAway(member) && !isOnNodeOff(member, nodesOff),
  );
  const coming = voters.filter(
    (member) => !member.healthy && !gone.includes(member) && !away.includes(member),
  );
  const unread = unreadOf(voters.filter((member) => !gone.includes(member)));
  const silent = silentNodes(coming);
  const recovery = plan && recoveryOf(view, plan);
  const { manual } = recovery ?? {};
  const more = manual && "until" in manual ? { until: manual.until } : {};
  // With nodes silent that a plan is only good without, nothing is lost as far as anybody knows.
  const isLost = plan !== undefined && plan.nodesOff.length === 0;
  if (isLost || healthy.length + coming.length < needed) {
    const left = size - gone.length - away.length;
    const lost = {
      gone: namesOf(gone),
      ...(away.length > 0 && { away: namesOf(away) }),
      left,
      needed,
      loss: lossOf(view, gone),
      ...(recovery && { recovery }),
      ...(unread.length > 0 && { unread }),
      ...(silent.nodes.length > 0 && { silent }),
    };
    return [hold(HOLDS.everything, "QuorumLost", lost, more)];
  }
  const awaited = { healthy: healthy.length, size, needed, coming: namesOf(coming) };
  const isHindered = silent.nodes.length > 0 || unread.some(({ obstacle }) => obstacle !== undefined);
  return isHindered || recovery
    ? [
        hold(
          HOLDS.everything,
          "QuorumHindered",
          { ...awaited, unread, silent, ...(recovery && { recovery }) },
          more,
        ),
      ]
    : [hold(HOLDS.everything, "QuorumAwaited", awaited)];
};

/** The plan as people are told of it. */
function recoveryOf(view: View, plan: RecoveryPlan): Recovery {
  const choice = isAutomatic(view) ? automaticChoice(view, plan) : undefined;
  const instead = preferredInstead(view, plan);
  return {
    survivor: plan.survivor.name,
    ...(plan.nodesOff.length > 0 && { nodesOff: plan.nodesOff }),
    ...(instead && { instead: { is: instead.is, name: instead.name } }),
    approval: approvable(view.observation, plan.hash),
    manual: choice && "manual" in choice ? choice.manual : undefined,
  };
}

/** What cannot be told of the data of those that may have some, and why. */
function unreadOf(members: readonly MemberView[]): Unread[] {
  return members.flatMap(({ name, directory }) => {
    if (directory?.state !== "reading" && directory?.state !== "unreachable") return [];
    const { why, obstacle } = directory;
    return why === undefined ? [] : [{ member: name, why, obstacle }];
  });
}

/** Of those that are awaited: where they were, if that does not answer. */
function silentNodes(members: readonly MemberView[]): SilentNodes {
  const lost = members.flatMap(({ workload, record }) =>
    (workload.state === "running" || workload.state === "stopping") && workload.lostNode !== undefined
      ? [{ node: workload.lostNode, medium: record.template.storage.medium }]
      : [],
  );
  const nodes = [...new Set(lost.map(({ node }) => node))].toSorted();
  return { nodes, isLocal: lost.some(({ medium }) => medium === "HostPath") };
}

/** What those that serve have lost, and how a person who put older data back accepts it. */
function lossOf(view: View, gone: readonly MemberView[]): Loss | undefined {
  const word = acceptingWord(gone);
  const evidence = gone.flatMap(({ name, forgot }) => (forgot ? [`${name}: ${forgot.evidence}`] : []));
  return word === undefined ? undefined : { evidence, approval: approvable(view.observation, word) };
}
