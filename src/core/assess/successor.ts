/** Who should lead when the present leader is about to be restarted or removed, or was fenced. */
import { raftLag, type MemberView, type View } from "../view.ts";

/**
 * A healthy voter that stays, preferring one that is not fenced, then one that already runs what its record says, then
 * the least lag. A fenced one leads rather than none: an election would choose it as well, and cost clients time.
 */
export function successor(
  view: View,
  leader: MemberView,
  prefer: (member: MemberView) => boolean = () => true,
): MemberView | undefined {
  const candidates = view.staying.filter(
    (member) => member !== leader && member.isVoter && member.healthy && !member.record.retiring,
  );
  const lag = (member: MemberView) => raftLag(view, member) ?? 0;
  const [first] = candidates.toSorted(
    (a, b) =>
      Number(a.fenced ?? false) - Number(b.fenced ?? false) ||
      Number(prefer(b)) - Number(prefer(a)) ||
      Number(b.upToDate) - Number(a.upToDate) ||
      lag(a) - lag(b),
  );
  return first;
}
