/**
 * Who votes, when there is no quorum to ask: by the member list of one that answers, and by the one in the directory whose
 * log is the newest. A record does not tell a learner that has joined from a voter, so it counts only where no list is known.
 */
import type { DirectoryMember, EtcdMemberEntry } from "../observation.ts";
import { isAt, type MemberView, type View } from "../view.ts";
import { byLog, dataOf } from "./member-data.ts";

export interface PlanVoters {
  /** Alone or with others it makes the quorum. */
  readonly isVoter: (member: MemberView) => boolean;
  /** Voters that no record stands for; undefined where no list is known. */
  readonly votersWithoutRecord: readonly string[] | undefined;
}

interface Entry {
  readonly id: string;
  readonly name: string;
  readonly peerURLs: readonly string[];
  readonly isLearner: boolean;
}

export function planVoters(view: View): PlanVoters {
  const lists = [view.observation.etcd.list?.members.map(fromEtcd), newestList(view)?.map(fromDirectory)];
  const entries = lists.flatMap((list) => list ?? []);
  if (entries.length === 0) return { isVoter: isVoterByRecord, votersWithoutRecord: undefined };
  const votersWithoutRecord = entries.filter(
    (entry) => !entry.isLearner && !view.members.some((member) => isOf(member, entry)),
  );
  return {
    // One list may be older than the promotion: whoever votes by one of them, votes.
    isVoter: (member) => {
      const its = entries.filter((entry) => isOf(member, entry));
      return its.length === 0 ? isVoterByRecord(member) : its.some(({ isLearner }) => !isLearner);
    },
    votersWithoutRecord: [...new Set(votersWithoutRecord.map(({ id, name }) => name || id))],
  };
}

/** Who has joined, and every founder. */
export function isVoterByRecord({ record }: MemberView): boolean {
  return record.role === "Voter" && (record.joined || record.boot === "New");
}

function newestList(view: View): readonly DirectoryMember[] | undefined {
  const found = view.members.flatMap((member) => {
    const data = dataOf(view, member);
    return data ? [data] : [];
  });
  return found.toSorted(byLog)[0]?.members;
}

function isOf({ record }: MemberView, { id, peerURLs }: Entry): boolean {
  return record.memberID === undefined ? isAt({ peerURLs }, record.address) : record.memberID === id;
}

function fromEtcd({ id, name, peerURLs, isLearner }: EtcdMemberEntry): Entry {
  return { id, name, peerURLs, isLearner };
}

function fromDirectory({ id, name, peerURL, isLearner = false }: DirectoryMember): Entry {
  return { id, name, peerURLs: [peerURL], isLearner };
}
