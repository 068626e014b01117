/**
 * How long before the loss of quorum the first write was acknowledged that a copy lacks: an upper bound that was observed,
 * and nothing where nobody observed it.
 */
import { quorum } from "../quorum.ts";
import type { MemberView, View } from "../view.ts";

/** When too few were seen to have their data for another write to be acknowledged. */
export function quorumGoneAt(voters: readonly MemberView[]): number | undefined {
  const gone = voters.flatMap(({ goneSince }) => (goneSince === undefined ? [] : [goneSince]));
  return gone.toSorted((a, b) => a - b)[voters.length - quorum(voters.length)];
}

/**
 * Seconds, at most. A read through quorum told `revision` or less when it began: what is above it was written later. So was
 * what is not in a copy that has all from before `since`; one that was made after quorum was lost, from a member that
 * was left, says nothing of the time before.
 */
export function lostSeconds(
  { observation }: View,
  goneAt: number | undefined,
  { revision, since }: { readonly revision: number; readonly since?: string | undefined },
): number | undefined {
  if (goneAt === undefined) return undefined;
  const seen = (observation.etcd.revisionLooks ?? []).filter((look) => look.revision <= revision);
  const { quorumSeenAt = -Infinity } = observation.etcd;
  const times = [...seen.map(({ at }) => at), ...(since === undefined ? [] : [Date.parse(since)])];
  const from = Math.max(...times.filter((at) => at <= quorumSeenAt));
  return Number.isFinite(from) ? Math.ceil(Math.max(0, goneAt - from) / 1_000) : undefined;
}
