/**
 * A workload that was started from something else than its record says now is ended, and the platform makes
 * it anew. This is the second half of a roll, and of a revert; a healthy voter goes down only when the
 * others keep quorum (I1), and hands leadership over first (R10).
 */
import { act, hold } from "../outcome.ts";
import type { Rule } from "../decide.ts";
import { survivesRestart } from "../quorum.ts";
import { healthyVotersBut } from "../view.ts";
import { successor } from "./successor.ts";

export const restartOutdated: Rule = (view) => {
  const member = view.staying.find(
    (candidate) => !candidate.upToDate && candidate.workload.state !== "absent",
  );
  if (!member) return [];
  if (member.workload.state === "stopping") {
    return [
      hold({
        classes: ["join", "roll", "maintain"],
        reason: "Stopping",
        message: `waiting for ${member.name} to stop`,
      }),
    ];
  }
  const stop = act("revert", `${member.name} restarts with what its record says`, {
    kind: "StopWorkload",
    member: member.name,
  });
  if (!member.healthy || !member.isVoter || view.voters === 1) return [stop];
  if (!survivesRestart(view.voters, healthyVotersBut(view, member)) && view.voters > 2) {
    return [
      hold({
        classes: ["join", "promote", "shrink", "roll", "maintain"],
        reason: "MemberUnhealthy",
        message: `${member.name} restarts once enough of the other voters are healthy`,
      }),
    ];
  }
  const heir = member.isLeader ? successor(view, member) : undefined;
  if (heir?.entry) {
    return [
      act("revert", `${member.name} leads and is about to restart`, {
        kind: "MoveLeader",
        member: heir.name,
        memberID: heir.entry.id,
      }),
    ];
  }
  return [stop];
};
