/**
 * NOSPACE (R27): the whole cluster refuses writes until somebody compacts, defragments every member and
 * disarms the alarm. That is done here, when it can help: if the live data itself fills the quota, only a
 * person can decide what to delete or whether to raise the quota.
 */
import { bytesOf, quotaOf } from "../../api/quantity.ts";
import { act, hold } from "../outcome.ts";
import type { Rule } from "../decide.ts";
import type { MemberView, View } from "../view.ts";
import { followersFirst } from "./defragment.ts";

/** After the cure the databases must be this far below the quota, or the alarm would be back at once. */
const ROOM = 0.9;
/** Deletes are still allowed under the alarm; each brings a new revision worth compacting. */
const RETRY_MS = 10_000;

export const noSpace: Rule = (view) => {
  const armed = view.observation.etcd.alarms.find((alarm) => alarm.alarm === "NOSPACE");
  if (!armed || !view.hasQuorum) return [];
  const quota = quotaBytes(view);
  if (!view.spec.maintenance.spaceCure) {
    return [full(view, "the database is full and spec.maintenance.spaceCure is off", undefined)];
  }
  const { compacted } = view.observation.etcd;
  const revision = Math.max(0, ...view.members.map(({ answer }) => (answer.reachable ? answer.revision : 0)));
  if (!compacted || (compacted.revision < revision && view.now - compacted.at >= RETRY_MS)) {
    return [act("heal", "the database is full: drop the old revisions", { kind: "Compact", revision })];
  }
  const voters = view.members.filter((member) => member.isVoter && member.answer.reachable);
  const fits = liveBytes(voters) < quota * ROOM;
  const bloated = followersFirst(voters).find(
    ({ answer, name }) =>
      fits &&
      answer.reachable &&
      answer.dbSize >= quota * ROOM &&
      (view.observation.etcd.defragmentedAt[name] ?? 0) < compacted.at,
  );
  if (bloated) {
    return [
      act("heal", `${bloated.name} gives the freed pages back`, { kind: "Defragment", member: bloated.name }),
    ];
  }
  const stillFull = voters.some(({ answer }) => answer.reachable && answer.dbSize >= quota * ROOM);
  if (stillFull) {
    const due = compacted.at + RETRY_MS;
    // Over already: nobody has deleted anything since. To look at once again would be to look all the time.
    const until = due > view.now ? due : view.now + RETRY_MS;
    return [full(view, "live data fills the quota; nothing is left to compact", until)];
  }
  return [act("heal", "there is room again", { kind: "Disarm", alarm: "NOSPACE", memberID: armed.memberID })];
};

/**
 * All voters hold the same data, so the least that one of them tells is true of all. A member counts pages as
 * free only at its next commit, and while writes are refused none may come: of a compaction, only the one
 * that carried out the call was seen to tell.
 */
function liveBytes(voters: readonly MemberView[]): number {
  return Math.min(...voters.map(({ answer }) => (answer.reachable ? answer.dbSizeInUse : Infinity)));
}

function full(view: View, message: string, until: number | undefined) {
  const mib = Math.round(quotaBytes(view) / 1024 ** 2);
  return hold({
    classes: ["join", "promote", "shrink", "roll", "maintain"],
    reason: "NoSpace",
    message: `${message} (quota ${mib} MiB); etcd refuses writes`,
    next: "Delete keys, or raise spec.options.quotaBackendBytes.",
    until,
  });
}

function quotaBytes(view: View): number {
  return bytesOf(quotaOf(view.spec));
}
