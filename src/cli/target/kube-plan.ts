/**
 * What the operator would do, worked out here from the objects alone: the status and the records stand for what the
 * operator sees, and its own decision is folded forward over them. Nothing is asked of etcd.
 */
import { peerURLOf } from "../../core/config/flags.ts";
import type { MemberStatus } from "../../api/etcd-cluster-status.ts";
import type { EtcdMember } from "../../api/etcd-member.ts";
import { parseCluster } from "../../api/parse-cluster.ts";
import type {
  EtcdMemberEntry,
  MemberAnswer,
  MemberFacts,
  Observation,
  WorkloadFacts,
} from "../../core/observation.ts";
import { outline } from "../../core/plan/outline.ts";
import { startHash } from "../../core/template/template.ts";
import { minorNumber, minorOf } from "../../core/version/version.ts";
import { InvalidInput } from "../../local/change.ts";
import { memberAddress } from "../../operator/names.ts";
import { readCluster } from "../../operator/records/cluster-object.ts";
import { recordOf } from "../../operator/records/member-object.ts";
import type { ClusterObject, PlanOf, PlannedChange } from "./target.ts";

const ASSUMES = [
  "members run what their records say, and the status is up to date",
  "Pods can be scheduled, images pulled and volumes made",
] as const;

/** Enough addresses for any plan. */
const OFFERS = 40;

export function kubePlan(
  cluster: ClusterObject | undefined,
  members: readonly EtcdMember[],
  change: PlannedChange | undefined,
  now: number,
): PlanOf {
  const wanted = wantedCluster(cluster, change);
  const observation = observationOf(wanted, cluster, members, now);
  return { ...outline(observation), assumes: ASSUMES };
}

/** The cluster as it would be; checked as the API server would. */
function wantedCluster(cluster: ClusterObject | undefined, change: PlannedChange | undefined): ClusterObject {
  const document =
    change === undefined
      ? cluster
      : "manifest" in change
        ? change.manifest
        : cluster && { ...cluster, spec: { ...cluster.spec, ...change } };
  const parsed = parseCluster(document, cluster);
  if (!parsed.ok) throw new InvalidInput(parsed.errors);
  const { metadata } = parsed.cluster;
  return {
    ...parsed.cluster,
    metadata: {
      ...cluster?.metadata,
      name: metadata.name,
      namespace: cluster?.metadata.namespace ?? metadata.namespace ?? "default",
      uid: cluster?.metadata.uid ?? "not-created-yet",
      generation: (cluster?.metadata.generation ?? 0) + (change === undefined ? 0 : 1),
    },
  };
}

function observationOf(
  wanted: ClusterObject,
  present: ClusterObject | undefined,
  members: readonly EtcdMember[],
  now: number,
): Observation {
  const read = readCluster(wanted, members);
  if (!read.ok) throw new InvalidInput(read.errors);
  const { facts } = read;
  const status = present?.status;
  const seen = new Map((status?.members ?? []).map((member) => [member.name, member]));
  const clusterID = status?.clusterID;
  const leaderID = seen.get(status?.leader ?? "")?.id ?? "0";
  const asked = { now, clusterID: clusterID ?? "", leaderID, revision: status?.revision ?? 1 };
  const highest = Math.max(facts.marks.highestOrdinal, 0, ...members.map(({ spec }) => spec.ordinal));
  const entries = members.flatMap((member) => entryOf(member, seen.get(member.metadata.name)));
  const quorate = status?.conditions?.find(({ type }) => type === "Quorate")?.status === "True";
  return {
    now,
    cluster: facts,
    members: members.map((member) => factsOf(member, seen.get(member.metadata.name), asked)),
    operations: [],
    etcd: {
      ...(clusterID !== undefined &&
        entries.length > 0 &&
        leaderID !== "0" && { list: { clusterID, linearizable: quorate, members: entries } }),
      ...(status?.version?.current !== undefined && { clusterVersion: minorOf(status.version.current) }),
      alarms: [...seen.values()].flatMap(({ id = "0", alarms = [] }) =>
        alarms.flatMap((alarm) =>
          alarm === "NOSPACE" || alarm === "CORRUPT" ? [{ memberID: id, alarm }] : [],
        ),
      ),
      hashes: { at: now, revision: 0, byMember: {} },
      defragmentedAt: {},
    },
    platform: {
      fenced: false,
      offers: Array.from({ length: OFFERS }, (_, index) => ({
        ordinal: highest + index + 1,
        address: memberAddress(facts, highest + index + 1, "Service"),
      })),
      highestLeftover: 0,
      unavailableVersions: {},
      clashes: [],
    },
  };
}

interface Asked {
  readonly now: number;
  readonly clusterID: string;
  readonly leaderID: string;
  readonly revision: number;
}

const RAFT_INDEX = 1_000_000;

function factsOf(member: EtcdMember, seen: MemberStatus | undefined, asked: Asked): MemberFacts {
  const record = recordOf(member);
  const healthy = seen?.healthy === true;
  return {
    record,
    deleting: member.metadata.deletionTimestamp !== undefined,
    volume: record.volumeUID === undefined ? { state: "absent" } : { state: "ready", uid: record.volumeUID },
    workload: workloadOf(member, healthy, asked.now),
    answer: answerOf(record.template.version, seen, asked),
    ...(!healthy && record.run && record.joined && { unhealthySince: asked.now }),
  };
}

function workloadOf(member: EtcdMember, healthy: boolean, now: number): WorkloadFacts {
  const record = recordOf(member);
  if (!record.run) return { state: "absent" };
  const startedFrom = startHash(record);
  if (healthy) return { state: "running", since: now - 3_600_000, startedFrom, restarts: 0 };
  const { phase, message = "" } = member.status ?? {};
  if (phase === "Failed")
    return { state: "exited", since: now, startedFrom, restarts: 1, cause: "unknown", detail: message };
  if (phase === "Stopping") return { state: "stopping", since: now, startedFrom };
  if (phase === "Pending" || phase === undefined) return { state: "absent" };
  return { state: "running", since: now, startedFrom, restarts: 0 };
}

function answerOf(recorded: string, seen: MemberStatus | undefined, asked: Asked): MemberAnswer {
  if (seen?.healthy !== true || seen.id === undefined)
    return { reachable: false, error: "the status says that it is not healthy" };
  const version = seen.version ?? recorded;
  return {
    reachable: true,
    memberID: seen.id,
    clusterID: asked.clusterID,
    leaderID: asked.leaderID,
    isLearner: seen.role === "Learner",
    version,
    storageVersion: minorNumber(version) >= minorNumber("3.6") ? `${minorOf(version)}.0` : "",
    raftIndex: RAFT_INDEX,
    raftAppliedIndex: RAFT_INDEX - (seen.raftLag ?? 0),
    raftTerm: 2,
    revision: asked.revision,
    dbSize: seen.dbSize ?? 0,
    dbSizeInUse: seen.dbSizeInUse ?? seen.dbSize ?? 0,
    linearizable: seen.role !== "Learner",
  };
}

/** In etcd's list once etcd has given it an ID. */
function entryOf({ spec, metadata }: EtcdMember, seen: MemberStatus | undefined): EtcdMemberEntry[] {
  const id = seen?.id ?? spec.memberID;
  if (id === undefined) return [];
  return [
    {
      id,
      name: spec.joined ? metadata.name : "",
      peerURLs: [peerURLOf(spec)],
      clientURLs: spec.joined ? [spec.address.clientURL] : [],
      isLearner: seen?.role === "Learner",
      ours: true,
    },
  ];
}
