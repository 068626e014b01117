/**
 * What follows by itself when nothing fails: workloads start from their records, founders form a cluster,
 * joiners catch up, somebody leads, and etcd's cluster version follows its members.
 */
import type {
  EtcdMemberEntry,
  MemberAnswer,
  MemberFacts,
  Observation,
  WorkloadFacts,
} from "../observation.ts";
import { wouldRepeat } from "../assess/exit-causes.ts";
import { shouldRun } from "../assess/should-run.ts";
import { quorum } from "../quorum.ts";
import { clientURLOf, peerURLOf } from "../config/flags.ts";
import { passage } from "../template/client-ways.ts";
import { lacksOnlyResources, sameStart, startHash, templateFor } from "../template/template.ts";
import { minorNumber, minorOf } from "../version/version.ts";
import { entryOf, isAt, isResizable, viewOf } from "../view.ts";

type Answering = Extract<MemberAnswer, { reachable: true }>;

export function settle(observation: Observation): Observation {
  const started = startWorkloads(observation);
  const founded = found(started);
  return readAuth(choose(follow(answerAll(founded))));
}

/** Where nobody had a reason to ask whether auth is enabled, it is asked when there is one; mostly it is not. */
function readAuth(o: Observation): Observation {
  if (o.auth === undefined || o.auth.etcd !== undefined || o.cluster.spec.auth !== undefined) return o;
  const etcd = { enabled: false, users: {}, roles: {}, passwords: {}, predicted: false };
  return { ...o, auth: { ...o.auth, etcd } };
}

/** Where a time ends what clients may still use, it runs from when they have the choice. */
function choose(o: Observation): Observation {
  const { spec } = o.cluster;
  if (spec.tls.transition?.proceed !== "After") return o;
  const { clientsChooseSince = o.now, ...rest } = o.platform;
  const { staying } = viewOf(o);
  const running = staying.map(({ record }) => record.template.tls);
  const { closing } = passage(running, templateFor(spec, spec.version).tls);
  const isMeantToServe = staying.every(({ record }) => record.run);
  return { ...o, platform: closing && isMeantToServe ? { ...rest, clientsChooseSince } : rest };
}

function startWorkloads(o: Observation): Observation {
  const offers = reoffer(o);
  const members = o.members.map((facts): MemberFacts => {
    const { record, workload } = facts;
    if (o.cluster.deleting || !shouldRun(o, facts)) return facts;
    // A latch rewrites the file only; what runs goes on.
    if (workload.state === "running" && sameStart(workload.startedFrom, record)) return facts;
    if (isResizable(facts) && lacksOnlyResources(facts.workload.startedFrom, record))
      return { ...facts, workload: { ...facts.workload, startedFrom: startHash(record) } };
    if (workload.state !== "absent" && workload.state !== "exited") return facts;
    if (workload.state === "exited" && wouldRepeat(workload.cause, sameStart(workload.startedFrom, record)))
      return facts;
    const running: WorkloadFacts = {
      state: "running",
      since: o.now,
      startedFrom: startHash(record),
      restarts: 0,
    };
    return { ...facts, workload: running };
  });
  return { ...o, members, platform: { ...o.platform, offers } };
}

/** Addresses of members that exist by now are taken; the rest is still on offer. */
function reoffer(o: Observation): Observation["platform"]["offers"] {
  const taken = new Set(o.members.map((facts) => facts.record.ordinal));
  return o.platform.offers.filter((offer) => !taken.has(offer.ordinal));
}

/** The member list, once a quorum of those who are in it runs: of the founders, or of all who had joined. */
function found(o: Observation): Observation {
  // While members are being recorded, nobody can tell a quorum of them.
  if (o.etcd.list || o.cluster.marks.adopting) return o;
  const known = o.members.some(({ record }) => record.joined) ? returning(o) : founding(o);
  const voters = known.filter((entry) => !entry.isLearner);
  const running = o.members.filter(
    ({ record, workload }) =>
      workload.state === "running" && voters.some((entry) => isAt(entry, record.address)),
  );
  if (voters.length === 0 || running.length < quorum(voters.length)) return o;
  const clusterID = o.cluster.marks.established?.clusterID ?? `cluster-of-${o.cluster.name}`;
  return { ...o, etcd: { ...o.etcd, list: { clusterID, linearizable: true, members: known } } };
}

/** Nobody waits for a permit by then. */
function founding(o: Observation): readonly EtcdMemberEntry[] {
  const founders = o.members.filter((facts) => facts.record.boot === "New" && !facts.record.leaving);
  if (founders.some(({ record, volume }) => record.volumeUID === undefined && volume.state === "ready"))
    return [];
  return (founders[0]?.record.initialCluster ?? []).map(({ name, peerURL }) => ({
    id: o.members.find((facts) => facts.record.name === name)?.record.memberID ?? `id-of-${name}`,
    name,
    peerURLs: [peerURL],
    clientURLs: [],
    isLearner: false,
    ours: true,
  }));
}

/**
 * After a sleep or an outage, those are in the list who had joined, and who was on the way in; none is told apart
 * who was being promoted.
 */
function returning(o: Observation): readonly EtcdMemberEntry[] {
  return o.members
    .map((facts) => facts.record)
    .filter(({ joined, memberID }) => joined || memberID !== undefined)
    .map((record) => ({
      id: record.memberID ?? `id-of-${record.name}`,
      name: record.joined ? record.name : "",
      peerURLs: [peerURLOf(record)],
      clientURLs: [],
      isLearner: record.role === "Learner" || !record.joined,
      ours: true,
    }));
}

function answerAll(o: Observation): Observation {
  const { list } = o.etcd;
  if (!list) return o;
  const find = ({ record }: MemberFacts) => entryOf(record, list.members);
  const pattern = o.members
    .map((facts) => facts.answer)
    .find((answer): answer is Answering => answer.reachable);
  const members = o.members.map((facts): MemberFacts => {
    const entry = find(facts);
    const runs = facts.workload.state === "running" && entry !== undefined;
    if (!runs)
      return {
        ...facts,
        answer: facts.answer.reachable && !entry ? { reachable: false, error: "removed" } : facts.answer,
      };
    const { unhealthySince: _healed, ...rest } = facts;
    return { ...rest, answer: answerOf(facts, entry, list.clusterID, pattern) };
  });
  const entries = list.members.map((entry) => {
    const facts = o.members.find((candidate) => find(candidate)?.id === entry.id);
    return facts?.workload.state === "running"
      ? { ...entry, name: facts.record.name, clientURLs: [clientURLOf(facts.record)] }
      : entry;
  });
  return { ...o, members, etcd: { ...o.etcd, list: { ...list, members: entries } } };
}

function answerOf(
  facts: MemberFacts,
  entry: EtcdMemberEntry,
  clusterID: string,
  pattern: Answering | undefined,
): Answering {
  const { version } = facts.record.template;
  const own = facts.answer.reachable ? facts.answer : pattern;
  return {
    reachable: true,
    memberID: entry.id,
    clusterID,
    leaderID: pattern?.leaderID ?? "0",
    isLearner: entry.isLearner,
    version,
    storageVersion: own?.storageVersion ?? "",
    raftIndex: pattern?.raftIndex ?? 10,
    raftAppliedIndex: pattern?.raftIndex ?? 10,
    raftTerm: pattern?.raftTerm ?? 2,
    revision: pattern?.revision ?? 1,
    dbSize: own?.dbSize ?? 20_480,
    dbSizeInUse: own?.dbSizeInUse ?? 16_384,
    linearizable: !entry.isLearner,
    downgrade: own?.downgrade,
  };
}

/** A leader, the cluster version and the storage versions that the running members imply. */
function follow(o: Observation): Observation {
  const { list } = o.etcd;
  if (!list) return o;
  const voters = list.members.filter((entry) => !entry.isLearner);
  const alive = o.members.filter(
    ({ answer }) => answer.reachable && voters.some((entry) => entry.id === answer.memberID),
  );
  const present =
    alive.find(({ answer }) => answer.reachable && answer.leaderID === answer.memberID) ?? alive[0];
  const leaderID =
    alive.length >= quorum(voters.length) && present?.answer.reachable ? present.answer.memberID : "0";
  const linearizable = leaderID !== "0";
  const lowest = Math.min(...list.members.map((entry) => minorOfEntry(o, entry)));
  const spoken = o.etcd.clusterVersion;
  const goingDown = o.members.some(({ answer }) => answer.reachable && answer.downgrade?.enabled);
  const finished = (lowest > minorNumber(spoken ?? "0.0") && !goingDown) || !anyAbove(o, spoken);
  const clusterVersion = linearizable
    ? finished
      ? `${Math.floor(lowest / 1000)}.${lowest % 1000}`
      : spoken
    : spoken;
  const members = o.members.map((facts): MemberFacts => {
    if (!facts.answer.reachable) return facts;
    const { downgrade, ...answer } = facts.answer;
    const storageVersion =
      minorNumber(answer.version) >= minorNumber("3.6") && clusterVersion ? `${clusterVersion}.0` : "";
    const done = downgrade && !anyAbove(o, minorOf(downgrade.target));
    return {
      ...facts,
      answer: {
        ...answer,
        leaderID,
        linearizable: linearizable && !answer.isLearner,
        storageVersion,
        ...(downgrade && !done ? { downgrade } : {}),
      },
    };
  });
  return { ...o, members, etcd: { ...o.etcd, clusterVersion, list: { ...list, linearizable } } };
}

function minorOfEntry(o: Observation, entry: EtcdMemberEntry): number {
  const answer = o.members.map((facts) => facts.answer).find((a) => a.reachable && a.memberID === entry.id);
  const record = o.members.find((facts) => isAt(entry, facts.record.address))?.record;
  return minorNumber(
    answer?.reachable ? answer.version : (record?.template.version ?? o.etcd.clusterVersion ?? "0.0"),
  );
}

function anyAbove(o: Observation, version: string | undefined): boolean {
  if (version === undefined) return false;
  return o.members.some(
    ({ answer }) => answer.reachable && minorNumber(answer.version) > minorNumber(version),
  );
}
