/**
 * The observation, joined up: each record beside its entry in etcd's list, who is healthy, who leads, is
 * there quorum. Computed once per pass; the rules read it and never work it out again.
 */
import type { EtcdClusterSpec } from "../api/etcd-cluster-spec.ts";
import type { EtcdMemberEntry, MemberFacts, Observation, WorkloadFacts } from "./observation.ts";
import { isOutOfReach } from "./assess/reach.ts";
import { isSamePeer } from "./config/flags.ts";
import { quorum } from "./quorum.ts";
import { clusterToken, isEstablished, ordinalOf, type MemberRecord } from "./record.ts";
import { lacksOnlyResources, sameStart } from "./template/template.ts";

export interface MemberView extends MemberFacts {
  readonly name: string;
  /** Its entry in etcd's member list; undefined before it was added and after it was removed. */
  readonly entry?: EtcdMemberEntry;
  readonly isVoter: boolean;
  readonly isLeader: boolean;
  /** Answers, follows a leader, and a voter serves linearizable reads. */
  readonly healthy: boolean;
  /** We do not see how it is, but its readiness or its peers say that it serves (H16): neither healthy nor unhealthy. */
  readonly outOfReach: boolean;
  /** It does what a healthy member does, while its workload is being ended by somebody who does not get through to it. */
  readonly stillServes: boolean;
  /** Its workload was started from what its record says now. */
  readonly upToDate: boolean;
  /** It lacks only resources, which the platform gives it without a restart. */
  readonly resizing: boolean;
}

export interface View {
  readonly observation: Observation;
  readonly spec: EtcdClusterSpec;
  readonly now: number;
  /** The same moment by the clock that times are stored in operations by. */
  readonly serverNow: number;
  readonly token: string;
  /** This life's cluster was seen to exist (I3). */
  readonly established: boolean;
  /** It exists, and a quorum of its members would not start over from an empty directory: clients may write (H2, H3). */
  readonly open: boolean;
  /** All records, by ordinal. */
  readonly members: readonly MemberView[];
  /** Records that are neither leaving nor of a former life. */
  readonly staying: readonly MemberView[];
  /** Entries of etcd's list that no record stands for. */
  readonly unrecorded: readonly EtcdMemberEntry[];
  readonly voters: number;
  readonly healthyVoters: number;
  /** A linearizable list answered, and enough voters are healthy: membership can change. */
  readonly hasQuorum: boolean;
  readonly leader?: MemberView;
  readonly nextOrdinal: number;
}

/** Observations never change, and one pass asks several times, also while it looks at those that a plan foretells. */
const views = new WeakMap<Observation, View>();

export function viewOf(observation: Observation): View {
  let view = views.get(observation);
  if (view === undefined) views.set(observation, (view = join(observation)));
  return view;
}

function join(observation: Observation): View {
  const { cluster, etcd } = observation;
  const token = clusterToken(cluster.uid, cluster.marks);
  const list = etcd.list?.members ?? [];
  const taken = new Set<string>();
  const members = observation.members.map((facts) => {
    const member = memberView(facts, list, etcd.list?.clusterID);
    if (member.entry) taken.add(member.entry.id);
    return member;
  });
  const unrecorded = list.filter((entry) => !taken.has(entry.id));
  const voters = list.filter((entry) => !entry.isLearner).length;
  const healthyVoters = members.filter((member) => member.isVoter && member.healthy).length;
  // A member that has joined proves it as well, should the mark ever be lost.
  const established =
    isEstablished(cluster.uid, cluster.marks) ||
    observation.members.some(({ record }) => record.joined && record.token === token);
  return {
    observation,
    spec: cluster.spec,
    now: observation.now,
    serverNow: observation.serverNow ?? observation.now,
    token,
    established,
    open: established && (observation.platform.opened !== false || isQuorumConfirmed(members, voters)),
    members,
    staying: members.filter((member) => !member.record.leaving && member.record.token === token),
    unrecorded,
    voters,
    healthyVoters,
    hasQuorum: etcd.list?.linearizable === true && healthyVoters >= quorum(voters),
    leader: members.find((member) => member.isLeader),
    nextOrdinal: nextOrdinal(observation, list),
  };
}

/** A time that was stored by the server's clock, as our own clock would have shown it. */
export function byOurClock({ now, serverNow }: Pick<View, "now" | "serverNow">, stored: number): number {
  return stored - serverNow + now;
}

/** While nobody tells who votes, everybody who has joined counts. */
function isQuorumConfirmed(members: readonly MemberView[], voters: number): boolean {
  const joined = members.filter(({ isVoter, record }) => record.joined && (isVoter || voters === 0));
  const confirmed = joined.filter(({ unconfirmed }) => unconfirmed !== true);
  return confirmed.length >= quorum(voters || joined.length);
}

/** A member's entry in etcd's list: by its ID once that is known, else by its peer URL, whose scheme may change. */
export function entryOf(
  { memberID, address }: Pick<MemberRecord, "memberID" | "address">,
  list: readonly EtcdMemberEntry[],
): EtcdMemberEntry | undefined {
  return list.find((entry) => (memberID ? entry.id === memberID : isAt(entry, address)));
}

export function isAt(
  { peerURLs }: Pick<EtcdMemberEntry, "peerURLs">,
  { peerURL }: Pick<MemberRecord["address"], "peerURL">,
): boolean {
  return peerURLs.some((url) => isSamePeer(url, peerURL));
}

function memberView(
  facts: MemberFacts,
  list: readonly EtcdMemberEntry[],
  clusterID: string | undefined,
): MemberView {
  const { record, answer, workload } = facts;
  const entry = entryOf(record, list);
  const isVoter = entry !== undefined && !entry.isLearner;
  const answers =
    answer.reachable &&
    entry !== undefined &&
    answer.memberID === entry.id &&
    answer.clusterID === clusterID &&
    answer.leaderID !== "0";
  const serves = answers && (!isVoter || answer.linearizable) && facts.forgot === undefined;
  return {
    ...facts,
    name: record.name,
    entry,
    isVoter,
    isLeader: answers && answer.leaderID === answer.memberID,
    healthy: serves && workload.state === "running",
    stillServes: serves && workload.state === "stopping",
    outOfReach: isOutOfReach(facts, entry),
    upToDate:
      workload.state === "absent" ||
      workload.startedFrom === undefined ||
      sameStart(workload.startedFrom, record),
    resizing: isResizable(facts) && lacksOnlyResources(facts.workload.startedFrom, record),
  };
}

type Resizable = MemberFacts & { readonly workload: Extract<WorkloadFacts, { state: "running" }> };

export function isResizable(facts: MemberFacts): facts is Resizable {
  return facts.workload.state === "running" && facts.workload.resizable === true;
}

/** Names are never reused: one more than the highest ever seen anywhere (H11). */
function nextOrdinal(observation: Observation, list: readonly EtcdMemberEntry[]): number {
  const { cluster, platform, members } = observation;
  const inEtcd = list.map((entry) => ordinalOf(cluster.name, entry.name) ?? 0);
  const inRecords = members.map((member) => member.record.ordinal);
  // Founders are planned together: the first record may name members that have no record yet.
  const planned = members.flatMap((member) =>
    member.record.boot === "New"
      ? member.record.initialCluster.map((peer) => ordinalOf(cluster.name, peer.name) ?? 0)
      : [],
  );
  return (
    1 +
    Math.max(0, cluster.marks.highestOrdinal, platform.highestLeftover, ...inEtcd, ...inRecords, ...planned)
  );
}

/** The UID of the volume that is this member's own; one that took its place is somebody else's (I9). */
export function ownVolume({ record, volume }: MemberView): string | undefined {
  return "uid" in volume && volume.uid !== undefined && (record.volumeUID ?? volume.uid) === volume.uid
    ? volume.uid
    : undefined;
}

/**
 * Votes, or, while nobody tells who votes, did so by its record: who has joined, and every founder, which etcd lists from
 * the start. One that is still a learner says so itself, and cannot bring a quorum back (R17).
 */
export function isOrWasVoter({ observation, token }: View, member: MemberView): boolean {
  const { isVoter, record, answer } = member;
  if (isVoter || observation.etcd.list !== undefined) return isVoter;
  if (!record.joined) return record.boot === "New" && record.token === token;
  return record.role === "Voter" && !(answer.reachable && answer.isLearner);
}

/** Out of etcd's list, as a quorum says: what is left of it (a Pod that hangs, a volume) is in nobody's way. */
export function hasLeft({ observation }: View, { record, entry }: MemberView): boolean {
  return record.leaving !== undefined && entry === undefined && observation.etcd.list?.linearizable === true;
}

/** It was let in without etcd's check of its data, which the spec asks for: it differs from its siblings on purpose. */
export function isStartedUnchecked({ spec }: View, { record }: MemberView): boolean {
  return spec.options.corruptCheck.initial && !record.template.options.corruptCheck.initial;
}

/** Healthy voters apart from this one. */
export function healthyVotersBut(view: View, member: MemberView): number {
  return view.members.filter((other) => other !== member && other.isVoter && other.healthy).length;
}

export function unhealthyVoters(view: View): MemberView[] {
  return view.members.filter((member) => member.isVoter && !member.healthy);
}

/** How many log entries a member is behind the leader; undefined while either does not answer. */
export function raftLag(view: View, member: MemberView): number | undefined {
  const leader = view.leader?.answer;
  if (!leader?.reachable || !member.answer.reachable) return undefined;
  return Math.max(0, leader.raftIndex - member.answer.raftAppliedIndex);
}

export function followersFirst(members: readonly MemberView[]): MemberView[] {
  return members.toSorted(
    (a, b) => Number(a.isLeader) - Number(b.isLeader) || a.record.ordinal - b.record.ordinal,
  );
}

export function namesOf(members: readonly { name: string }[]): string[] {
  return members.map((member) => member.name);
}

export function names(members: readonly { name: string }[]): string {
  return members.map((member) => member.name).join(", ");
}
