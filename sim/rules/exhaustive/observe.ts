/** An abstract state as an Observation: what an operator would see of it, with time standing still. */
import {
  etcdClusterSpecSchema,
  type EtcdClusterSpec,
  type EtcdClusterSpecInput,
} from "../../../src/api/etcd-cluster-spec.ts";
import { millisecondsOf } from "../../../src/api/duration.ts";
import type {
  EtcdFacts,
  ExitCause,
  MemberAnswer,
  MemberFacts,
  Observation,
  OperationFacts,
  WorkloadFacts,
} from "../../../src/core/observation.ts";
import type { OperationTask } from "../../../src/core/operations/task.ts";
import {
  memberName,
  type ClusterMarks,
  type MemberAddress,
  type MemberRecord,
} from "../../../src/core/record.ts";
import { startHash } from "../../../src/core/template/template.ts";
import { hasQuorum, isUp, voterIsUp } from "./truth.ts";
import type { Member, Operation, Started, State, Task, Templates } from "./state.ts";

export const NOW = 1_750_000_000_000;
const HOUR_MS = 3_600_000;
export const CLUSTER = "demo";
const UID = "11111111-2222";
const OPERATION_UID = "33333333-4444";
const OPERATION = "task";
const operationUID = (number: number) => `${OPERATION_UID}-${number}`;
const operationName = (number: number) => `${OPERATION}-${number}`;
export const operationNumber = (name: string) => Number(name.split("-").at(-1));
/** Far enough behind the leader that nobody promotes it. */
const LOG = 1_000_000;

/** What the search can be about: the specs among which a person edits. */
export interface Setting {
  readonly specs: readonly EtcdClusterSpec[];
  readonly templates: Templates;
}

/** Comparison of hashes and the hourly budget are left out of the search. */
export function specOf(input: Partial<EtcdClusterSpecInput>): EtcdClusterSpec {
  return etcdClusterSpecSchema.parse({
    version: "3.6.16",
    repair: { maxReplacementsPerHour: 60 },
    maintenance: { hashCheck: { interval: "0s" } },
    ...input,
  });
}

const addresses = Array.from({ length: 40 }, (_, i) => ({ ordinal: i + 1, address: address(i + 1) }));

function address(ordinal: number): MemberAddress {
  const host = memberName(CLUSTER, ordinal);
  return {
    peerURL: `https://${host}:2380`,
    clientURL: `https://${host}:2379`,
    metricsURL: `http://${host}:2381`,
    listenPeerURL: "https://0.0.0.0:2380",
    listenClientURL: "https://0.0.0.0:2379",
    listenMetricsURL: "http://0.0.0.0:2381",
  };
}

function addressOf(ordinal: number): MemberAddress {
  return addresses[ordinal - 1]?.address ?? address(ordinal);
}

const startedFrom = new WeakMap<Started, string>();

function startOf(from: Started, { templates }: Setting): string {
  let text = startedFrom.get(from);
  if (text === undefined) {
    text = startHash({
      template: templates.get(from.template),
      joined: from.peers === undefined,
      initialCluster: peersOf(from.peers ?? []),
      ...(from.stamped !== undefined && { restart: operationUID(from.stamped) }),
    });
    startedFrom.set(from, text);
  }
  return text;
}

const peersOf = (ordinals: readonly number[]) =>
  ordinals.map((ordinal) => ({ name: memberName(CLUSTER, ordinal), peerURL: addressOf(ordinal).peerURL }));

export const idOf = (ordinal: number) => ordinal.toString(16);
export const ordinalOfID = (id: string) => Number.parseInt(id, 16);
export const ordinalOfName = (name: string) => Number(name.slice(CLUSTER.length + 1));
export const ownVolume = (ordinal: number) => `volume-${ordinal}`;

export function minorText(number: number): string {
  return `${Math.floor(number / 1000)}.${number % 1000}`;
}

/** Members are shared by many states, and templates by all of them. */
const records = new WeakMap<Member, MemberRecord>();

function recordOf(member: Member, { templates }: Setting): MemberRecord {
  const { ordinal } = member;
  const known = records.get(member);
  if (known) return known;
  const record: MemberRecord = {
    name: memberName(CLUSTER, ordinal),
    ordinal,
    uid: `record-${ordinal}`,
    resourceVersion: "1",
    createdAt: NOW - HOUR_MS,
    role: member.role,
    token: `${UID}-${member.life}`,
    boot: member.boot,
    address: addressOf(ordinal),
    initialCluster: peersOf(member.peers),
    ...(member.knowsID && { memberID: idOf(ordinal) }),
    ...(member.permitted && { volumeUID: ownVolume(ordinal) }),
    joined: member.joined,
    run: member.run,
    template: templates.get(member.template),
    ...(member.retiring && {
      retiring: { reason: "retired", ...(member.requested && { requested: true }) },
    }),
    ...(member.stamped > 0 && { restart: operationUID(member.stamped) }),
    ...(member.leaving && { leaving: { reason: "leaving", ...member.leaving } }),
  };
  records.set(member, record);
  return record;
}

/** What the marks look like on the cluster's object. */
function marksOf({ marks, members }: State): ClusterMarks {
  const counted = members.filter((member) => member.counted);
  const { oldLog, failed } = marks;
  return {
    life: marks.life,
    ...(marks.established && { established: { token: `${UID}-${marks.life}`, clusterID: "c1" } }),
    highestOrdinal: marks.highest,
    ...(marks.batch && { batchJoined: true }),
    ...(oldLog && { oldLog }),
    ...(failed && {
      failedTarget: {
        hash: failed.template,
        member: memberName(CLUSTER, failed.member),
        reason: "it failed",
      },
    }),
    ...(counted.length > 0 && {
      replaced: Object.fromEntries(counted.map(({ ordinal }) => [memberName(CLUSTER, ordinal), NOW - 1])),
    }),
  };
}

function workloadOf(state: State, member: Member, setting: Setting, serves: boolean): WorkloadFacts {
  const { process, from } = member;
  const isVoter = voterIsUp(state, member);
  if (process === "absent" || !from) return { state: "absent" };
  const start = startOf(from, setting);
  if (process === "stopping") return { state: "stopping", since: NOW, startedFrom: start };
  if (process.startsWith("exited")) {
    const cause = process.slice("exited ".length) as ExitCause;
    return { state: "exited", since: NOW, startedFrom: start, restarts: 2, cause, detail: cause };
  }
  return {
    state: "running",
    since: serves ? NOW - HOUR_MS : NOW,
    startedFrom: start,
    restarts: 0,
    // A learner is not ready, and one that joins in order to vote is not before it does (R36).
    ready: serves && isVoter,
  };
}

function answerOf(state: State, member: Member, { templates }: Setting): MemberAnswer {
  const { etcd } = state;
  if (state.blind) return { reachable: false, error: "connection timed out", cause: "network" };
  if (!isUp(state, member)) return { reachable: false, error: "connection refused", cause: "network" };
  const entry = etcd.list.find(({ ordinal }) => ordinal === member.ordinal);
  const { version } = templates.get(member.from?.template ?? member.template);
  const quorate = hasQuorum(state);
  const modern = !/^3\.[45]\./.test(version);
  return {
    reachable: true,
    memberID: idOf(member.ordinal),
    clusterID: "c1",
    leaderID: quorate ? idOf(etcd.leader) : "0",
    isLearner: entry?.learner ?? false,
    version,
    storageVersion: modern && etcd.version > 0 ? `${minorText(etcd.version)}.0` : "",
    raftIndex: LOG,
    raftAppliedIndex: member.synced ? LOG : 0,
    raftTerm: 2,
    revision: 1,
    dbSize: 20_480,
    dbSizeInUse: 16_384,
    linearizable: quorate && entry !== undefined && !entry.learner,
    ...(modern &&
      etcd.downgrade > 0 && { downgrade: { enabled: true, target: `${minorText(etcd.downgrade)}.0` } }),
  };
}

function etcdFacts(state: State): EtcdFacts {
  const { etcd } = state;
  if (state.blind || !state.members.some((member) => voterIsUp(state, member)))
    return { alarms: [], defragmentedAt: {} };
  const quorate = hasQuorum(state);
  return {
    list: {
      clusterID: "c1",
      linearizable: quorate,
      members: etcd.list.map(({ ordinal, learner, started }) => ({
        id: idOf(ordinal),
        name: started ? memberName(CLUSTER, ordinal) : "",
        peerURLs: [addressOf(ordinal).peerURL],
        clientURLs: started ? [addressOf(ordinal).clientURL] : [],
        isLearner: learner,
        ours: true,
      })),
    },
    ...(quorate && etcd.version > 0 && { clusterVersion: minorText(etcd.version) }),
    alarms: [],
    defragmentedAt: {},
  };
}

export function specIn(state: State, { specs }: Setting): EtcdClusterSpec {
  const spec = specs[state.spec];
  if (!spec) throw new RangeError(`no spec ${state.spec}`);
  return spec;
}

export function observe(state: State, setting: Setting): Observation {
  const spec = specIn(state, setting);
  const since = [
    NOW,
    NOW - millisecondsOf(spec.repair.unhealthyAfter),
    NOW - millisecondsOf(spec.repair.memberLostAfter),
  ];
  const quorate = hasQuorum(state);
  const members = state.members.map((member): MemberFacts => {
    const { ordinal, volume } = member;
    const serves = quorate && isUp(state, member) && state.etcd.list.some((e) => e.ordinal === ordinal);
    return {
      record: recordOf(member, setting),
      deleting: member.deleting,
      volume:
        volume === "absent"
          ? { state: "absent" }
          : { state: "ready", uid: volume === "own" ? ownVolume(ordinal) : `another-${ordinal}` },
      workload: workloadOf(state, member, setting, serves),
      answer: answerOf(state, member, setting),
      ...(!serves && { unhealthySince: since[member.down] ?? NOW }),
      // It may have looked in vain for as long as it likes.
      ...(serves && state.blind && { unhealthySince: since[2] ?? NOW }),
    };
  });
  return {
    now: NOW,
    cluster: {
      name: CLUSTER,
      namespace: "default",
      uid: UID,
      generation: 1,
      deleting: state.deleting,
      spec,
      marks: marksOf(state),
    },
    members,
    operations: [state.operation, state.waiting].flatMap((one) => (one ? [operationFacts(one)] : [])),
    etcd: etcdFacts(state),
    platform: { fenced: false, offers: addresses, highestLeftover: 0, unavailableVersions: {}, clashes: [] },
  };
}

const named = (ordinal: number) => memberName(CLUSTER, ordinal);

function operationFacts({ number, task, running, members, done }: Operation): OperationFacts {
  return {
    name: operationName(number),
    uid: operationUID(number),
    resourceVersion: "1",
    generation: 1,
    createdAt: NOW - HOUR_MS + number * 1_000,
    deleting: false,
    task: taskOf(task),
    status: running
      ? {
          phase: "Running",
          startedAt: AT,
          members: members.map(named),
          steps: done.map((ordinal) => ({ at: AT, message: "done", member: named(ordinal) })),
        }
      : { observedGeneration: -1 },
  };
}

const AT = new Date(NOW - HOUR_MS).toISOString();

function taskOf({ kind, target }: Task): OperationTask {
  const name = target === undefined ? undefined : named(target);
  switch (kind) {
    case "restart":
      return { kind, ...(name !== undefined && { members: [name] }) };
    case "replaceMember":
      return { kind, name: name ?? "" };
    case "moveLeader":
      return { kind, ...(name !== undefined && { to: name }) };
  }
}
