/**
 * Quorum is lost, not there yet, or hidden from us alone (H16). Nothing that needs it is tried; what is missing is
 * said, and whether the data is still somewhere. Never a new, empty cluster in place of the old one (I3).
 */
import type { ExitCause } from "../observation.ts";
import { hiddenQuorum, howToApprove, whereToLook, whyUnreachable } from "../assess/out-of-reach.ts";
import { hold } from "../outcome.ts";
import type { Rule } from "../rule.ts";
import { quorum } from "../quorum.ts";
import { isOrWasVoter, names, type MemberView } from "../view.ts";

export const quorumLost: Rule = (view) => {
  const hidden = hiddenQuorum(view);
  const [first] = hidden;
  if (first) {
    return [
      hold({
        classes: "all",
        reason: "EtcdUnreachable",
        message: `${whyUnreachable(hidden)}; nothing is changed until it can`,
        next: `${whereToLook(hidden)}. To restart a member with the present spec nevertheless, such as ${first.name}, ${howToApprove(view, "restart", first)}.`,
      }),
    ];
  }
  if (!view.established || view.hasQuorum) return [];
  const voters = view.members.filter((member) => isOrWasVoter(view, member));
  const gone = voters.filter(hasLostItsData);
  const size = view.voters || voters.length;
  const needed = quorum(size);
  if (voters.length > 0 && gone.length === voters.length) {
    return [
      hold({
        classes: "all",
        reason: "DataGone",
        message: `the data of all ${size} voters is gone (${names(gone)}); the cluster is not started over, since that would hide the loss`,
        next: "Restore a snapshot into this cluster, or delete it and create it anew.",
      }),
    ];
  }
  const healthy = voters.filter((member) => member.healthy);
  const coming = voters.filter((member) => !member.healthy && !hasLostItsData(member));
  const enough = healthy.length + coming.length >= needed;
  return [
    hold({
      classes: "all",
      reason: enough ? "Waking" : "QuorumLost",
      message: enough
        ? `${healthy.length} of ${size} voters are healthy and ${needed} are needed; waiting for ${names(coming)}`
        : `quorum is lost for good: ${names(gone)} lost their data and only ${size - gone.length} of the ${needed} voters needed can return`,
      next: enough ? undefined : "Recover from a surviving member or restore a snapshot.",
    }),
  ];
};

function hasLostItsData({ record, volume, workload, forgot }: MemberView): boolean {
  if (forgot !== undefined) return true;
  if (volume.state === "absent" || (volume.state === "ready" && volume.uid !== record.volumeUID)) return true;
  return workload.state === "exited" && LOST.has(workload.cause);
}

/** Its peers refuse a founder that begins anew only if they know it as one that had begun already (R6). */
const LOST: ReadonlySet<ExitCause> = new Set(["data-missing", "data-corrupt", "already-bootstrapped"]);
