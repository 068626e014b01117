/**
 * The plan of a recovery when a majority of the voters has lost its data: the member whose log knows most, by the term and
 * then the index of its last entry as raft compares logs, and everything that the choice was made from. Its hash is what
 * a person approves: with any of it changed, it is another plan.
 */
import { canonical, shortHash } from "../hash.ts";
import type { MemberDirectory } from "../observation.ts";
import { quorum } from "../quorum.ts";
import type { MemberView, View } from "../view.ts";
import { hasLostItsData } from "./lost-data.ts";
import { hiddenQuorum } from "./out-of-reach.ts";

export type DataFound = Extract<MemberDirectory, { state: "data" }>;

export interface PlannedMember {
  readonly member: MemberView;
  /** Undefined where its data is lost, or is another cluster's. */
  readonly data?: DataFound;
}

export interface RecoveryPlan {
  readonly hash: string;
  readonly survivor: MemberView;
  readonly data: DataFound;
  readonly members: readonly PlannedMember[];
  /** The revision that the survivor will have: at least, and at most. */
  readonly revisions: { readonly least: number; readonly most: number };
  /** Revisions that were seen and that it cannot have; undefined where nobody knows how far the cluster had come. */
  readonly lost: { readonly least: number; readonly most: number } | undefined;
}

/** Undefined while quorum may still return, and while it is not known what every voter's directory holds. */
export function recoveryPlan(view: View): RecoveryPlan | undefined {
  const { cluster, etcd } = view.observation;
  if (!view.established || view.hasQuorum || hiddenQuorum(view).length > 0) return undefined;
  const voters = view.staying.filter(isVoterByRecord);
  const lost = voters.filter(hasLostItsData);
  if (voters.length - lost.length >= quorum(voters.length)) return undefined;
  // One on its way out counts for no quorum, but may have acknowledged writes that no other copy has.
  const going = view.members.filter((member) => isLeavingWithData(view, member));
  const left = [...voters.filter((member) => !lost.includes(member)), ...going];
  if (left.some(({ directory }) => directory === undefined)) return undefined;
  const members = [...voters, ...going].map((member): PlannedMember => {
    const data = lost.includes(member) ? undefined : dataOf(view, member);
    return { member, ...(data && { data }) };
  });
  const found = members.flatMap(({ member, data }) => (data ? [{ member, data }] : []));
  const [best] = found.toSorted(
    (a, b) =>
      b.data.term - a.data.term ||
      b.data.index - a.data.index ||
      a.member.record.ordinal - b.member.record.ordinal,
  );
  if (!best) return undefined;
  const { revision, replay } = best.data;
  const revisions = { least: revision, most: revision + replay };
  const seen = etcd.highestRevision ?? 0;
  const hash = shortHash(
    canonical({
      cluster: cluster.uid,
      token: view.token,
      survivor: best.member.name,
      members: members.map(({ member: { name, record }, data }) => ({
        name,
        volume: record.volumeUID,
        ...(data && { term: data.term, index: data.index }),
      })),
    }),
  );
  return {
    hash,
    survivor: best.member,
    data: best.data,
    members,
    revisions,
    lost:
      seen === 0
        ? undefined
        : { least: Math.max(0, seen - revisions.most), most: Math.max(0, seen - revisions.least) },
  };
}

/** By the records alone: the member list of one that is left may be old, and is gone when it stops. */
function isVoterByRecord({ record }: MemberView): boolean {
  return record.role === "Voter" && (record.joined || record.boot === "New");
}

function isLeavingWithData(view: View, member: MemberView): boolean {
  const { leaving, token } = member.record;
  return leaving !== undefined && token === view.token && isVoterByRecord(member) && !hasLostItsData(member);
}

/** What it holds of this cluster and as this member. */
function dataOf({ observation }: View, { record, directory }: MemberView): DataFound | undefined {
  const clusterID = observation.cluster.marks.established?.clusterID;
  if (directory?.state !== "data" || directory.clusterID !== clusterID) return undefined;
  return record.memberID === undefined || record.memberID === directory.memberID ? directory : undefined;
}
