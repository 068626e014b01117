/**
 * The plan of a recovery when a majority of the voters has lost its data: the member whose log knows most, by the term and
 * then the index of its last entry as raft compares logs, and everything that the choice was made from. Its hash is what
 * a person approves: with any of it changed, it is another plan. Where a node is silent, the plan says which nodes have to be
 * off for it, and approving it means saying that they are.
 */
import { canonical, shortHash } from "../template/hash.ts";
import { quorum } from "../quorum.ts";
import { namesOf, type MemberView, type View } from "../view.ts";
import { exitOf } from "./exit-causes.ts";
import { isWithoutData } from "./lost-data.ts";
import { lostSeconds, quorumGoneAt } from "./lost-time.ts";
import { byLog, dataOf, type DataFound } from "./member-data.ts";
import { isOnNodeOff, nodesToBeOff } from "./nodes-off.ts";
import { hiddenQuorum } from "./out-of-reach.ts";
import { isVoterByRecord, planVoters } from "./plan-voters.ts";

export interface PlannedMember {
  readonly member: MemberView;
  /** Undefined where its data is lost, or is another cluster's. */
  readonly data?: DataFound;
  /** It may have data, and nobody can look: its volume or its node is out of reach. */
  readonly unreachable?: true;
  /** It may run there, unless this node is off. */
  readonly onNode?: string;
}

export interface RecoveryPlan {
  readonly hash: string;
  readonly survivor: MemberView;
  readonly data: DataFound;
  readonly members: readonly PlannedMember[];
  /** It is a plan only if these nodes are off, which a person has to say of each by name. */
  readonly nodesOff: readonly string[];
  /** Voters that no record stands for; undefined where it is not known who votes. */
  readonly votersWithoutRecord: readonly string[] | undefined;
  /** The revision that the survivor will have: at least, and at most. */
  readonly revisions: { readonly least: number; readonly most: number };
  /** Revisions that were seen and that it cannot have; undefined where it is not known how far the cluster had come. */
  readonly lost: { readonly least: number; readonly most: number } | undefined;
  /** All that is lost was written within so many seconds before the loss of quorum; undefined where nobody saw it. */
  readonly lostSeconds: number | undefined;
  /** When quorum was seen to be lost; undefined where nobody saw it. */
  readonly goneAt: number | undefined;
}

/** What was settled when a recovery began. */
export interface Settled {
  /** Those whose directories counted: what etcd could not read then does not count once it has stopped. */
  readonly members?: readonly string[] | undefined;
  /** As the approval names them: of others it waits for the end of what is there. */
  readonly nodesOff: readonly string[];
}

/** Undefined while quorum may still return, and while it is not known what every voter's directory holds. */
export function recoveryPlan(view: View, begun?: Settled): RecoveryPlan | undefined {
  const { cluster, etcd } = view.observation;
  if (!view.established || view.hasQuorum || hiddenQuorum(view).length > 0) return undefined;
  const { isVoter, votersWithoutRecord } = planVoters(view);
  const voters = view.staying.filter(isVoter);
  const settled = begun?.members;
  const isLost = (member: MemberView) =>
    isWithoutData(view)(member) || (settled !== undefined && !settled.includes(member.name));
  const nodesOff = begun ? begun.nodesOff.toSorted() : nodesToBeOff(view);
  const lost = voters.filter(isLost);
  // One on its way out, or a learner, counts for no quorum, but may have acknowledged writes that no other copy has.
  const going = view.members.filter(
    (member) => !voters.includes(member) && isBeside(view, member) && !isLost(member),
  );
  const left = [...voters.filter((member) => !lost.includes(member)), ...going];
  const away = left.filter((member) => isOnNodeOff(member, nodesOff) || isAway(member));
  const hasChance = voters.filter((member) => !lost.includes(member) && !away.includes(member)).length;
  if (hasChance >= quorum(voters.length)) return undefined;
  if (left.some((member) => !away.includes(member) && isUnread(member))) return undefined;
  const members = [...voters, ...going].map((member): PlannedMember => {
    const onNode = isOnNodeOff(member, nodesOff) ? member.node?.name : undefined;
    const on = onNode === undefined ? {} : { onNode };
    if (away.includes(member)) return { member, unreachable: true, ...on };
    const data = lost.includes(member) ? undefined : dataOf(view, member);
    return { member, ...(data && { data }), ...on };
  });
  const found = members.flatMap(({ member, data }) => (data ? [{ member, data }] : []));
  const [best] = found.toSorted(
    (a, b) =>
      byLog(a.data, b.data) ||
      Number(isVoter(b.member)) - Number(isVoter(a.member)) ||
      a.member.record.ordinal - b.member.record.ordinal,
  );
  if (!best) return undefined;
  const { revision, replay } = best.data;
  const revisions = { least: revision, most: revision + replay };
  const seen = etcd.highestRevision ?? 0;
  const goneAt = quorumGoneAt(voters);
  const hash = shortHash(
    canonical({
      cluster: cluster.uid,
      token: view.token,
      survivor: best.member.name,
      members: members.map(({ member: { name, record }, data, unreachable }) => ({
        name,
        volume: record.volumeUID,
        ...(data && { term: data.term, index: data.index }),
        ...(unreachable && { unreachable }),
      })),
      // Without any the hash is what it was before there was this condition.
      ...(nodesOff.length > 0 && { nodesOff }),
    }),
  );
  return {
    hash,
    survivor: best.member,
    data: best.data,
    members,
    nodesOff,
    votersWithoutRecord,
    revisions,
    lost:
      seen === 0 || !isSeenToTheEnd(view, goneAt)
        ? undefined
        : { least: Math.max(0, seen - revisions.most), most: Math.max(0, seen - revisions.least) },
    lostSeconds: lostSeconds(view, goneAt, { revision: revisions.least }),
    goneAt,
  };
}

/**
 * The highest revision that was seen tells how far the cluster had come only if a read through quorum was followed within
 * seconds by the proof that too few have their data for another write. Who was merely out of our sight may have served.
 */
function isSeenToTheEnd({ observation }: View, goneAt: number | undefined): boolean {
  const { quorumSeenAt } = observation.etcd;
  return quorumSeenAt !== undefined && goneAt !== undefined && goneAt - quorumSeenAt <= SEEN_WITHIN_MS;
}

const SEEN_WITHIN_MS = 15_000;

/** Nothing runs on it, and for good as far as anybody knows: its node was deleted, or no node can use its volume. */
export function isAway({ directory, volume, workload }: MemberView): boolean {
  if (workload.state === "running" || workload.state === "stopping") return false;
  return directory?.state === "unreachable" || volume.state === "unreachable";
}

/** Nobody has looked into its directory so far, or somebody is at it. */
export function isUnread({ directory }: MemberView): boolean {
  return directory === undefined || directory.state === "reading" || directory.state === "unreachable";
}

/** Of whom what they hold counts, now and when they have stopped: not of those that etcd itself found unusable. */
export function settledFor(view: View): string[] {
  const isUnusable = (member: MemberView) =>
    member.forgot !== undefined || exitOf(member)?.data === "unreadable";
  return namesOf(view.members.filter((member) => !isUnusable(member)));
}

/**
 * Whether to look into the directories, where that takes more than reading files: a quorum cannot come back by itself, or
 * has not for long.
 */
export function isWorthReading(view: View): boolean {
  if (!view.established || view.hasQuorum || view.spec.replicas === 0) return false;
  if (hiddenQuorum(view).length > 0) return false;
  // By a list that is there before anything was read, and goes on being there: who votes by what was read is not asked.
  const isListed = view.observation.etcd.list !== undefined;
  const voters = view.staying.filter((member) =>
    isListed && member.entry ? member.isVoter : isVoterByRecord(member),
  );
  const nodesOff = nodesToBeOff(view);
  const isGone = (member: MemberView) =>
    isWithoutData(view)(member) || member.volume.state === "unreachable" || isOnNodeOff(member, nodesOff);
  const [lost, others] = [voters.filter(isGone), voters.filter((member) => !isGone(member))];
  if (lost.length === voters.length) return false;
  if (others.length < quorum(voters.length)) return true;
  return others.every(
    ({ healthy, unhealthySince }) => healthy || (unhealthySince ?? view.now) + LONG_MS <= view.now,
  );
}

const LONG_MS = 5 * 60_000;

/** It is leaving, or has joined and not been promoted. */
function isBeside(view: View, member: MemberView): boolean {
  return member.record.token === view.token && isVoterByRecord(member);
}
