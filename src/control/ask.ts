/**
 * The questions of one observation to etcd: each member for itself, then the cluster through a voter that
 * answered. Short deadlines, all in parallel, and no failure is more than a fact.
 */
import type { EtcdMemberEntry, MemberAnswer, EtcdFacts, UnreachableCause } from "../core/observation.ts";
import { compareVersions, parseVersion } from "../core/version/version.ts";
import type { EtcdClient } from "../etcd/client.ts";
import { isEtcdError, type EtcdErrorKind } from "../etcd/errors.ts";
import { formatId } from "../etcd/id.ts";
import type { Member, MemberStatus } from "../etcd/types.ts";
import type { Endpoint } from "../seams/etcd-transport.ts";
import type { AgreedVersion } from "./agreed-version.ts";
import { ASK_TIMEOUT_MS, type AskedMember } from "./asked-member.ts";

/** A member that starts takes connections long before it serves them: not until it has found a quorum. */
const LEAST_TIMEOUT_MS = 200;
/** Never written: reading an absent key through quorum proves as much as reading a present one. */
const HEALTH_KEY = "quorate.dev/health";

/** `startingMs`: how long it has run without an answer so far; undefined once it gave one. */
export async function askMember(
  client: EtcdClient,
  endpoint: Endpoint,
  startingMs: number | undefined,
): Promise<AskedMember> {
  const options = { timeoutMs: startingMs === undefined ? ASK_TIMEOUT_MS : patienceMs(startingMs) };
  let status: MemberStatus;
  try {
    status = await client.maintenance.status(endpoint, options);
  } catch (error) {
    return { answer: { reachable: false, error: reasonOf(error), cause: causeOf(error) }, troubled: false };
  }
  // A learner cannot serve such a read (R17), and without a leader it would only be waited for.
  const readable = !status.isLearner && status.leader !== 0n;
  const read = readable ? await readThroughQuorum(client, endpoint) : "failed";
  return { answer: toAnswer(status, read), troubled: status.errors.length > 0 };
}

/** What it says of itself, without a read through quorum; undefined when it says nothing, or speaks of troubles. */
export async function askItself(client: EtcdClient, endpoint: Endpoint): Promise<MemberAnswer | undefined> {
  try {
    const status = await client.maintenance.status(endpoint, { timeoutMs: ASK_TIMEOUT_MS });
    return status.errors.length > 0 ? undefined : toAnswer(status, "failed");
  } catch (error) {
    if (!isEtcdError(error)) throw error;
    return undefined;
  }
}

/** More, the longer it runs: one that takes half a second to answer would otherwise never be heard. */
function patienceMs(startingMs: number): number {
  return Math.min(ASK_TIMEOUT_MS, Math.max(LEAST_TIMEOUT_MS, startingMs / 10));
}

/** The revision that the quorum is at. `refused`: for who we are, which says nothing about the quorum. */
type Read = bigint | "failed" | "refused";

async function readThroughQuorum(client: EtcdClient, endpoint: Endpoint): Promise<Read> {
  const options = { endpoint, countOnly: true, timeoutMs: ASK_TIMEOUT_MS };
  try {
    return (await client.kv.range(HEALTH_KEY, options)).header.revision;
  } catch (error) {
    if (!isEtcdError(error)) throw error;
    return causeOf(error) === "authentication" ? "refused" : "failed";
  }
}

function toAnswer(status: MemberStatus, read: Read): MemberAnswer {
  return {
    reachable: true,
    memberID: formatId(status.header.memberId),
    clusterID: formatId(status.header.clusterId),
    leaderID: formatId(status.leader),
    isLearner: status.isLearner,
    version: status.version,
    storageVersion: status.storageVersion ?? "",
    raftIndex: Number(status.raftIndex),
    raftAppliedIndex: Number(status.raftAppliedIndex),
    raftTerm: Number(status.raftTerm),
    // Its status may be older than what it has read since.
    revision: Number(typeof read === "bigint" ? read : status.header.revision),
    dbSize: status.dbSize,
    dbSizeInUse: status.dbSizeInUse,
    ...(tellsQuota(status) && { dbSizeQuota: status.dbSizeQuota }),
    linearizable: typeof read === "bigint",
    ...(read === "refused" && { refused: true }),
    ...(status.downgrade && {
      downgrade: { enabled: status.downgrade.enabled, target: status.downgrade.targetVersion },
    }),
  };
}

/** Before, etcd told what it was asked for and not what it runs with. */
const QUOTA_REPORTED_FROM = parseVersion("3.6.6");

function tellsQuota(status: MemberStatus): status is MemberStatus & { readonly dbSizeQuota: number } {
  const runs = parseVersion(status.version);
  if (status.dbSizeQuota === undefined || !runs || !QUOTA_REPORTED_FROM) return false;
  return compareVersions(runs, QUOTA_REPORTED_FROM) >= 0;
}

export type ClusterAnswer = Pick<EtcdFacts, "list" | "clusterVersion" | "alarms">;

export interface Answered {
  readonly endpoint: Endpoint;
  readonly asked: AskedMember;
}

/** Asks the cluster. Without quorum the list is whatever a voter remembers, and is marked so (R21). */
export async function askCluster(
  client: EtcdClient,
  version: AgreedVersion,
  members: readonly Answered[],
  isOurs: (peerURL: string) => boolean,
): Promise<ClusterAnswer> {
  const voters = members.filter(({ asked: { answer } }) => answer.reachable && !answer.isLearner);
  const quorate = voters.filter(({ asked: { answer } }) => answer.reachable && answer.linearizable);
  const witness = quorate[0];
  const troubled = members.some(({ asked }) => asked.troubled);
  const [list, clusterVersion, alarms] = await Promise.all([
    askAnyList(client, voters, witness !== undefined, isOurs),
    witness &&
      version.ask(
        witness.endpoint,
        members.map(({ asked }) => asked),
      ),
    // An alarm request is a raft entry each time; members tell in their status that there is one.
    witness && troubled ? askAlarms(client) : [],
  ]);
  return { ...(list && { list }), ...(clusterVersion && { clusterVersion }), alarms };
}

async function askAnyList(
  client: EtcdClient,
  voters: readonly Answered[],
  quorate: boolean,
  isOurs: (peerURL: string) => boolean,
): Promise<EtcdFacts["list"]> {
  if (voters.length === 0) return undefined;
  for (const linearizable of quorate ? [true, false] : [false]) {
    const list = await askList(client, linearizable, isOurs);
    if (list) return list;
  }
  return undefined;
}

export async function askList(
  client: EtcdClient,
  linearizable: boolean,
  isOurs: (peerURL: string) => boolean,
): Promise<EtcdFacts["list"]> {
  try {
    const answer = await client.cluster.memberList({ linearizable, timeoutMs: ASK_TIMEOUT_MS });
    const members = answer.members.map((member) => toEntry(member, isOurs));
    return { clusterID: formatId(answer.header.clusterId), linearizable, members };
  } catch (error) {
    if (!isEtcdError(error)) throw error;
    return undefined;
  }
}

function toEntry(member: Member, isOurs: (peerURL: string) => boolean): EtcdMemberEntry {
  return {
    id: formatId(member.id),
    name: member.name,
    peerURLs: member.peerUrls,
    clientURLs: member.clientUrls,
    isLearner: member.isLearner,
    ours: member.peerUrls.length > 0 && member.peerUrls.every(isOurs),
  };
}

async function askAlarms(client: EtcdClient): Promise<EtcdFacts["alarms"]> {
  try {
    const alarms = await client.maintenance.alarms({ timeoutMs: ASK_TIMEOUT_MS });
    return alarms.map(({ memberId, alarm }) => ({ memberID: formatId(memberId), alarm }));
  } catch (error) {
    if (!isEtcdError(error)) throw error;
    return [];
  }
}

/** Which kinds of failure tell more than that nothing came back. */
const CAUSES: Partial<Record<EtcdErrorKind, UnreachableCause>> = {
  unavailable: "network",
  deadline: "network",
  "untrusted-server": "certificate",
  "client-certificate-refused": "certificate",
  "permission-denied": "authentication",
  "auth-user-required": "authentication",
  "auth-failed": "authentication",
  "auth-invalid-token": "authentication",
  "auth-old-revision": "authentication",
};

function causeOf(error: unknown): UnreachableCause {
  return (isEtcdError(error) ? CAUSES[error.kind] : undefined) ?? "unknown";
}

function reasonOf(error: unknown): string {
  return isEtcdError(error) ? error.said : error instanceof Error ? error.message : String(error);
}
