/**
 * Whether we see a member ourselves, and who else does. A network policy, a refused certificate or etcd's authentication
 * may stand between us and a member that serves everybody else: unreachable is not unhealthy (H16).
 */
import type { EtcdMemberEntry, MemberFacts, UnreachableCause } from "../observation.ts";

/** We cannot tell how it is, and somebody else vouches for it. */
export function isOutOfReach(facts: MemberFacts, entry: EtcdMemberEntry | undefined): boolean {
  const { workload, record, seenByPeers } = facts;
  if (workload.state !== "running" || !isHidden(facts)) return false;
  // It lost its data and came back empty: whoever vouches for it does not know that (I4).
  if (facts.forgot !== undefined) return false;
  // A joiner is not Ready before it votes (R36), and one that does not serve yet has simply not arrived.
  if (entry?.isLearner) return record.joined && (seenByPeers === true || isRefused(facts));
  // Its readiness outlives its node for a while; the peers notice within seconds.
  if (workload.ready !== undefined) return workload.ready && seenByPeers !== false;
  return seenByPeers === true || isRefused(facts);
}

/** Not seen by us to serve, whatever the cause. */
function isHidden({ answer, workload }: MemberFacts): boolean {
  if (!answer.reachable || answer.refused === true) return true;
  // It follows a leader and only takes longer than we wait: its probe has more patience, and is content.
  const isSlow = !answer.isLearner && !answer.linearizable && answer.leaderID !== "0";
  return isSlow && workload.state === "running" && workload.ready === true;
}

/** A refusal is an answer: its process runs. */
function isRefused({ answer }: MemberFacts): boolean {
  return causeOf(answer) === "authentication";
}

export function causeOf(answer: MemberFacts["answer"]): UnreachableCause {
  if (answer.reachable) return answer.refused ? "authentication" : "unknown";
  return answer.cause ?? "unknown";
}
