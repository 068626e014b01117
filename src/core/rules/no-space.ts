/**
 * NOSPACE (R27): the whole cluster refuses writes until somebody compacts, defragments every member and
 * disarms the alarm. That is done here, when it can help: if the live data itself fills the quota, only a
 * person can decide what to delete or whether to raise the quota. A quota that was raised helps only those who run with
 * it, so that it is rolled out first.
 */
import { bytesOf, quotaOf } from "../../api/quantity.ts";
import { act, hold } from "../steps/outcome.ts";
import type { Outcome } from "../action.ts";
import { HOLDS } from "../steps/hold-classes.ts";
import type { Rule } from "../rule.ts";
import { runningQuota } from "../assess/quota.ts";
import { followersFirst, type MemberView, type View } from "../view.ts";

/** After the cure the databases must be this far below the quota, or the alarm would be back at once. */
const ROOM = 0.95;
/** Deletes are still allowed under the alarm; each brings a new revision worth compacting. */
const RETRY_MS = 10_000;
/** By then a process that was asked to stop has ended, or its node is lost. */
const ENDS_WITHIN_MS = 60_000;

export const noSpace: Rule = (view) => {
  const armed = view.observation.etcd.alarms.filter(({ alarm }) => alarm === "NOSPACE");
  if (armed.length === 0 || !view.hasQuorum) return [];
  const voters = view.members.filter((member) => member.isVoter && member.answer.reachable);
  if (!view.spec.maintenance.spaceCure) {
    return [raising(view, voters) ?? full(voters, "FullAndCureOff")];
  }
  const { compacted } = view.observation.etcd;
  const revision = Math.max(0, ...view.members.map(({ answer }) => (answer.reachable ? answer.revision : 0)));
  if (!compacted || (compacted.revision < revision && view.now - compacted.at >= RETRY_MS)) {
    return [act("heal", "Compacted", {}, { kind: "Compact", revision })];
  }
  const live = liveBytes(voters);
  const bloated = followersFirst(voters.filter(isFull)).find(
    (member) =>
      live < roomOf(member) && (view.observation.etcd.defragmentedAt[member.name] ?? 0) < compacted.at,
  );
  if (bloated) {
    return [
      act(
        "heal",
        "DefragmentedWhenFull",
        { member: bloated.name },
        { kind: "Defragment", member: bloated.name },
      ),
    ];
  }
  const stillFull = voters.filter(isFull);
  if (stillFull.length > 0) {
    const due = compacted.at + RETRY_MS;
    // Over already: nobody has deleted anything since. To look at once again would be to look all the time.
    const until = due > view.now ? due : view.now + RETRY_MS;
    return [raising(view, stillFull) ?? full(voters, "FullOfLiveData", until)];
  }
  return [
    raising(
      view,
      view.members.filter((member) => isEnding(view, member)),
    ) ?? disarm(view, armed),
  ];
};

/** Until it has ended it applies what is written, and would raise the alarm again. A lost node must not keep writes out. */
function isEnding(view: View, { isVoter, workload }: MemberView): boolean {
  return isVoter && workload.state === "stopping" && view.now - workload.since < ENDS_WITHIN_MS;
}

/** Not at once again: where clients fill what is left as fast as that, disarming only makes work for etcd. */
function disarm({ observation, now }: View, armed: readonly { readonly memberID: string }[]): Outcome {
  const due = armed.map(({ memberID }) => ({
    memberID,
    at: (observation.etcd.disarmedAt?.[memberID] ?? -Infinity) + RETRY_MS,
  }));
  const next = due.find(({ at }) => at <= now);
  if (next)
    return act("heal", "NoSpaceDisarmed", {}, { kind: "Disarm", alarm: "NOSPACE", memberID: next.memberID });
  const until = Math.min(...due.map(({ at }) => at));
  return hold(HOLDS.allButHealing, "FullAgain", {}, { until });
}

/** Up to here there is room for a while; a member whose quota nobody knows has none. */
function roomOf(member: MemberView): number {
  return (runningQuota(member) ?? 0) * ROOM;
}

function isFull(member: MemberView): boolean {
  return member.answer.reachable && member.answer.dbSize >= roomOf(member);
}

/**
 * All voters hold the same data, so the least that one of them tells is true of all. A member counts pages as
 * free only at its next commit, and while writes are refused none may come: of a compaction, only the one
 * that carried out the call was seen to tell.
 */
function liveBytes(voters: readonly MemberView[]): number {
  return Math.min(...voters.map(({ answer }) => (answer.reachable ? answer.dbSizeInUse : Infinity)));
}

/** The spec gives more than these members run with: it has to reach them before anything else can help. */
function raising(view: View, members: readonly MemberView[]): Outcome | undefined {
  const wanted = bytesOf(quotaOf(view.spec));
  if (!members.some((member) => (runningQuota(member) ?? 0) < wanted)) return undefined;
  // Where a restart would lose the data a rollout is newcomers for old ones (H4), whom etcd lets in and out under the alarm.
  return hold(HOLDS.maintenance, "QuotaRollingOut", { quota: wanted });
}

function full(
  voters: readonly MemberView[],
  code: "FullAndCureOff" | "FullOfLiveData",
  until?: number,
): Outcome {
  const quota = Math.min(...voters.flatMap((member) => runningQuota(member) ?? []));
  const known = Number.isFinite(quota) ? { quota } : {};
  return hold(HOLDS.allButHealing, code, known, { until });
}
