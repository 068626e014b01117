/**
 * Which members may send a snapshot, best first: fresh voters that do not lead, so that the leader keeps its disk and
 * network for clients; then the leader; then those that are behind. Without quorum a survivor does as well. The process
 * that takes it asks each of them once more before it chooses (src/snapshot/choose.ts): minutes may lie between.
 */
import { clientURLOf } from "../config/flags.ts";
import type { MemberView, View } from "../view.ts";

/** A member so many entries behind the best is not fresh: a busy cluster writes as many in a tenth of a second. */
const FRESH_ENTRIES = 1_000;

type Answering = MemberView & { readonly answer: Extract<MemberView["answer"], { reachable: true }> };

export function sourcesOf({ members, observation }: View): readonly string[] {
  const corrupt = new Set(
    observation.etcd.alarms.filter(({ alarm }) => alarm === "CORRUPT").map(({ memberID }) => memberID),
  );
  const usable = members.filter(
    (member): member is Answering =>
      member.answer.reachable &&
      !member.answer.isLearner &&
      // It came back without what it had.
      member.forgot === undefined &&
      !corrupt.has(member.answer.memberID),
  );
  const newest = Math.max(0, ...usable.map(({ answer }) => answer.raftAppliedIndex));
  const rank = ({ answer, isLeader }: Answering) =>
    newest - answer.raftAppliedIndex > FRESH_ENTRIES ? 2 : isLeader ? 1 : 0;
  return usable
    .toSorted((a, b) => rank(a) - rank(b) || b.answer.raftAppliedIndex - a.answer.raftAppliedIndex)
    .map(({ record }) => clientURLOf(record));
}

/** Of all voters that have joined and stay, in the order of their names: it changes only with the membership. */
export function endpointsOf({ staying }: View): readonly string[] {
  return staying
    .filter(({ record }) => record.joined && record.role === "Voter")
    .map(({ record }) => clientURLOf(record))
    .toSorted();
}
