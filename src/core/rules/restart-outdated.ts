/**
 * A workload that was started from something else than its record says now is ended, and the platform makes
 * it anew; where it lacks only resources and the platform can give them to it as it runs, that is waited for.
 * This is the second half of a roll, and of a revert; a healthy voter goes down only when the
 * others keep quorum (I1), and hands leadership over first (R10); one that only we cannot see counts as healthy, and one
 * that seems ill is not stopped while another that was stopped before it has not come back (H16).
 */
import {
  approvalOf,
  isApproved,
  isApprovalGiven,
  unreachable,
  voterCount,
  wellVotersBut,
} from "../assess/out-of-reach.ts";
import { CAUSES } from "../messages/causes.ts";
import { act, hold, update } from "../steps/outcome.ts";
import type { Outcome } from "../action.ts";
import { HOLDS } from "../steps/hold-classes.ts";
import type { Rule } from "../rule.ts";
import { survivesRestart } from "../quorum.ts";
import { isVolatile } from "../template/template.ts";
import { restartedBefore } from "../assess/trial.ts";
import { healthyVotersBut, isOrWasVoter, type MemberView, type View } from "../view.ts";
import { successor } from "../assess/successor.ts";

/** The kubelet tells when it is done; should its word be late, this is when to ask. */
const RESIZE_LOOK_MS = 5_000;

export const restartOutdated: Rule = (view) => {
  const outdated = view.staying.filter(
    (member) => !member.upToDate && member.workload.state !== "absent" && !isBeingSwapped(member),
  );
  const member = outdated.find(({ resizing }) => !resizing) ?? outdated[0];
  if (!member) return [];
  if (member.workload.state === "stopping") {
    return [hold(HOLDS.joinsAndDisruptions, "OutdatedStopping", { member: member.name })];
  }
  if (member.resizing) {
    const until = view.now + RESIZE_LOOK_MS;
    return [hold(HOLDS.disruptions, "Resizing", { member: member.name }, { until })];
  }
  // In place it could not be done, and its data would end with its workload (H4).
  if (losesData(member)) {
    const cause = CAUSES.restartLosesData;
    const retire = update(member, "retire", { retiring: { reason: cause } });
    return [act("roll", "RestartLosesData", { member: member.name, cause }, retire)];
  }
  const stop = act(
    "revert",
    "MemberRestarted",
    { member: member.name },
    { kind: "StopWorkload", member: member.name },
  );
  const unseen = mayStopUnseen(view, member);
  if (unseen) return [unseen];
  if (!member.healthy || !member.isVoter || view.voters === 1) return [stop];
  if (!survivesRestart(view.voters, healthyVotersBut(view, member)) && view.voters > 2) {
    return [hold(HOLDS.allButHealing, "RestartAwaitsVoters", { member: member.name })];
  }
  const nextLeader = member.isLeader ? successor(view, member) : undefined;
  if (nextLeader?.entry) {
    return [
      act(
        "revert",
        "LeaderRestarting",
        { member: member.name },
        { kind: "MoveLeader", member: nextLeader.name, memberID: nextLeader.entry.id },
      ),
    ];
  }
  return [stop];
};

/** Why a running member that we do not see healthy is not stopped now, if it is not. */
function mayStopUnseen(view: View, member: MemberView): Outcome | undefined {
  const serves = view.established || member.outOfReach;
  if (member.healthy || !serves || member.workload.state !== "running") return undefined;
  const approval = approvalOf(view, "restart", member);
  if (member.outOfReach) {
    // Its template was changed by an approval that counted, or while we saw it: no second wait.
    const approved = isApprovalGiven(view, "restart", member);
    const others = approved ? wellVotersBut(view, member) : healthyVotersBut(view, member);
    const size = voterCount(view);
    const isSafe = survivesRestart(size, others) || (approved && size <= 2) || isSeenLearner(view, member);
    if (isSafe) return undefined;
    const unseen = unreachable([member]);
    return approved
      ? hold(HOLDS.allButHealing, "ApprovedRestartWaits", { member: member.name, unreachable: unseen })
      : hold(HOLDS.allButHealing, "RestartUnseen", { unreachable: unseen, approval });
  }
  const approved = isApproved(view, "restart", member);
  const first = approved || !isOrWasVoter(view, member) ? undefined : restartedBefore(view, member);
  return first && hold(HOLDS.allButHealing, "RestartAwaitsFirst", { approval, first: first.name });
}

function isSeenLearner(view: View, { entry }: MemberView): boolean {
  return view.hasQuorum && entry?.isLearner === true;
}

function losesData({ healthy, outOfReach, record }: MemberView): boolean {
  return (healthy || outOfReach) && record.joined && isVolatile(record.template);
}

function isBeingSwapped(member: MemberView): boolean {
  return member.record.retiring !== undefined && losesData(member);
}
