/**
 * A volume that has to become larger and cannot: where volumes do not grow in place, a newcomer on a larger one takes
 * the member's place while it still serves (H6). One at a time, since everything that joins or leaves comes before.
 */
import { act, update } from "../steps/outcome.ts";
import type { Rule } from "../rule.ts";
import type { MemberView } from "../view.ts";

export const outgrown: Rule = (view) => {
  if (!view.established || !view.hasQuorum || view.staying.some(({ healthy }) => !healthy)) return [];
  // Followers first: replacing the leader costs a change of leadership (R20).
  const [next] = view.staying
    .filter((member) => tooSmall(member) !== undefined && !member.record.retiring)
    .toSorted((a, b) => Number(a.isLeader) - Number(b.isLeader));
  const reason = next && tooSmall(next);
  if (!next || reason === undefined) return [];
  return [
    act(
      "roll",
      "VolumeTooSmall",
      { member: next.name, why: reason },
      update(next, "retire", { retiring: { reason } }),
    ),
  ];
};

function tooSmall({ volume }: MemberView): string | undefined {
  return volume.state === "ready" ? volume.tooSmall : undefined;
}
