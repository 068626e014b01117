/**
 * Gives free pages back (R29): one member at a time, followers first and the leader last, only while all
 * are healthy and nobody joins, and never where it would take longer than liveness allows (H12).
 */
import { millisecondsOf } from "../../api/duration.ts";
import { bytesOf } from "../../api/quantity.ts";
import { act, hold } from "../outcome.ts";
import type { Rule } from "../decide.ts";
import type { MemberView } from "../view.ts";
import { nextOpening } from "../window.ts";

/** A member is left in peace this long after a defragmentation, whatever its sizes say. */
const REST_MS = 600_000;

export const defragment: Rule = (view) => {
  const { auto, freeAbove, ratioAbove, window } = view.spec.maintenance.defrag;
  if (!auto || !view.established || !view.hasQuorum) return [];
  if (view.members.some((member) => !member.healthy || !member.record.joined || member.record.leaving))
    return [];

  const threshold = bytesOf(freeAbove);
  const fragmented = view.members.filter(({ answer, isVoter, name }) => {
    if (!isVoter || !answer.reachable || answer.dbSize === 0) return false;
    if (view.now - (view.observation.etcd.defragmentedAt[name] ?? 0) < REST_MS) return false;
    const free = answer.dbSize - answer.dbSizeInUse;
    return free > threshold && free / answer.dbSize > ratioAbove;
  });
  const [next] = followersFirst(fragmented);
  if (!next) return [];
  const opening = window ? nextOpening(window, view.now, millisecondsOf(window.duration)) : view.now;
  if (opening > view.now) {
    return [
      hold({
        classes: [],
        reason: "OutsideWindow",
        message: `${next.name} is defragmented when the maintenance window opens`,
        until: opening,
      }),
    ];
  }
  return [act("maintain", `${next.name} gives free pages back`, { kind: "Defragment", member: next.name })];
};

export function followersFirst(members: readonly MemberView[]): MemberView[] {
  return members.toSorted(
    (a, b) => Number(a.isLeader) - Number(b.isLeader) || a.record.ordinal - b.record.ordinal,
  );
}
