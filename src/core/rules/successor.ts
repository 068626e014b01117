/** Who should lead when the present leader is about to be restarted or removed. */
import { raftLag, type MemberView, type View } from "../view.ts";

/** A healthy voter that stays, preferring one that already runs what its record says, then the least lag. */
export function successor(
  view: View,
  leader: MemberView,
  prefer: (member: MemberView) => boolean = () => true,
): MemberView | undefined {
  const heirs = view.staying.filter(
    (member) => member !== leader && member.isVoter && member.healthy && !member.record.retiring,
  );
  const rank = (member: MemberView) => [
    prefer(member) ? 0 : 1,
    member.upToDate ? 0 : 1,
    raftLag(view, member) ?? 0,
  ];
  return heirs.toSorted((a, b) => {
    const [a1 = 0, a2 = 0, a3 = 0] = rank(a);
    const [b1 = 0, b2 = 0, b3 = 0] = rank(b);
    return a1 - b1 || a2 - b2 || a3 - b3;
  })[0];
}
