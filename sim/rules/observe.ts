/** Objects, pods and the model's answers, as one Observation: what `src/control` does over the wire, at once. */
import type {
  EtcdFacts,
  EtcdMemberEntry,
  MemberAnswer,
  MemberFacts,
  Observation,
  OperationFacts,
  WorkloadFacts,
} from "../../src/core/observation.ts";
import { inOrderOfCreation } from "../../src/core/operations/task.ts";
import type { MemberRecord } from "../../src/core/record.ts";
import { viewOf } from "../../src/core/view.ts";
import { Memory as Seen } from "../../src/control/memory.ts";
import { Retries } from "../../src/control/retries.ts";
import { ClientsChoose } from "../../src/control/clients-choose.ts";
import { UnhealthySince } from "../../src/control/unhealthy-since.ts";
import type { Calls } from "../models/etcd/calls.ts";
import { Refusal } from "../models/etcd/refusal.ts";
import type { Server } from "../models/etcd/server.ts";
import type { Objects } from "./objects.ts";
import type { Pods } from "./pods.ts";

/** What an operator knows only by itself, kept as the product keeps it: lost with it, at the cost of time (design: timers). */
export class Memory {
  readonly unhealthy = new UnhealthySince();
  readonly clientsChoose = new ClientsChoose();
  readonly retries = new Retries();
  readonly seen = new Seen();
  readonly defragmentedAt = new Map<string, number>();
  readonly defragmentedFor = new Map<string, string>();
  readonly reissuedFor = new Map<string, string>();
  readonly operationFailures = new Map<string, NonNullable<OperationFacts["failures"]>>();
  readonly disarmedAt = new Map<string, number>();
  hashes: EtcdFacts["hashes"];
  compacted: EtcdFacts["compacted"];
  nudgedAt: number | undefined;
}

const OFFERS = 12;
const SILENT: MemberAnswer = { reachable: false, error: "connection refused" };

export function observe(
  objects: Objects,
  pods: Pods,
  calls: Calls,
  memory: Memory,
  now: number,
): Observation {
  const records = [...objects.records.values()].toSorted((a, b) => a.ordinal - b.ordinal);
  const servers = records.map(({ name }) =>
    objects.reaches(name) ? answering(pods.server(name)) : undefined,
  );
  const members = records.map((record, i): MemberFacts => {
    const volume = objects.volumes.get(record.name);
    return {
      record,
      deleting: objects.deleting.has(record.name),
      ...(objects.fenced.has(record.name) && { fenced: true }),
      ...(record.joined && !objects.configs.get(record.name)?.joined && { unconfirmed: true }),
      volume: volume ? { state: "ready", uid: volume.uid } : { state: "absent" },
      workload: withReadiness(
        factsOf(objects, pods, record.name),
        calls,
        answering(pods.server(record.name)),
      ),
      answer: answerOf(calls, servers[i]),
      ...trustOf(objects, servers[i]),
    };
  });
  return withTimers(memory, {
    now,
    cluster: objects.cluster,
    members: memory.seen.judge(objects.cluster, members, undefined),
    etcd: etcdFacts(objects, calls, servers, memory),
    platform: {
      fenced: false,
      offers: offers(objects, records),
      opened: objects.open,
      highestLeftover: Math.max(0, ...[...objects.volumes.keys(), ...pods.names()].map(ordinalIn)),
      unavailableVersions: {},
      clashes: [],
      authorities: objects.authorities.facts(objects.cluster.spec.tls),
      ...(memory.reissuedFor.size > 0 && { reissuedFor: Object.fromEntries(memory.reissuedFor) }),
    },
    operations: operationsOf(objects, memory),
    ...(objects.backups.state && { snapshots: objects.backups.state }),
  });
}

/** A look at a process that answers. */
function trustOf({ authorities }: Objects, server: Server | undefined): Pick<MemberFacts, "trust"> {
  return server ? { trust: authorities.seen(server) } : {};
}

function operationsOf({ operations }: Objects, { operationFailures }: Memory): OperationFacts[] {
  return inOrderOfCreation([...operations.values()]).map((operation) => {
    const failures = operationFailures.get(operation.uid);
    return failures ? { ...operation, failures } : operation;
  });
}

function withTimers({ unhealthy, clientsChoose }: Memory, seen: Observation): Observation {
  unhealthy.see(viewOf(seen), seen.now);
  const choose = clientsChoose.since(viewOf(seen), seen.now);
  const platform = { ...seen.platform, ...(choose !== undefined && { clientsChooseSince: choose }) };
  const members = seen.members.map((facts) => {
    const since = unhealthy.of(facts.record.name);
    return since === undefined ? facts : { ...facts, unhealthySince: since };
  });
  return { ...seen, members, platform };
}

/** What could not be made is reported with its cause. */
function factsOf({ refusing }: Objects, pods: Pods, name: string): WorkloadFacts {
  const facts = pods.facts(name);
  if (facts.state !== "absent" || !refusing) return facts;
  return { state: "absent", notMade: { reason: "PodRefused", message: "exceeded quota: small" } };
}

/** Its probe is asked beside it, whoever else reaches it: a linearizable read, which a learner does not serve (R36). */
function withReadiness(workload: WorkloadFacts, calls: Calls, server: Server | undefined): WorkloadFacts {
  if (workload.state !== "running") return workload;
  const ready = server !== undefined && attempt(() => calls.linearizableRead(server)) !== undefined;
  return { ...workload, ready };
}

function answering(server: Server | undefined): Server | undefined {
  return server?.serving && server.runs && !server.frozen ? server : undefined;
}

function answerOf(calls: Calls, server: Server | undefined): MemberAnswer {
  if (!server) return SILENT;
  const reported = attempt(() => calls.status(server));
  if (!reported) return SILENT;
  const { downgrade, ...status } = reported.value;
  return {
    reachable: true,
    ...status,
    linearizable: attempt(() => calls.linearizableRead(server)) !== undefined,
    ...(downgrade ? { downgrade } : {}),
  };
}

/** Undefined when refused. */
function attempt<T>(call: () => T): { value: T } | undefined {
  try {
    return { value: call() };
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}

function etcdFacts(
  objects: Objects,
  calls: Calls,
  servers: readonly (Server | undefined)[],
  memory: Memory,
): EtcdFacts {
  const voters = servers.filter((server): server is Server => server?.runs === true && !server.isLearner);
  const quorate = voters.find((server) => attempt(() => calls.linearizableRead(server)));
  const witness = quorate ?? voters[0];
  const remembered = {
    ...(memory.hashes ? { hashes: memory.hashes } : {}),
    ...(memory.compacted ? { compacted: memory.compacted } : {}),
    ...(memory.nudgedAt !== undefined && { nudgedAt: memory.nudgedAt }),
    ...(memory.disarmedAt.size > 0 && { disarmedAt: Object.fromEntries(memory.disarmedAt) }),
    defragmentedAt: Object.fromEntries(memory.defragmentedAt),
    defragmentedFor: Object.fromEntries(memory.defragmentedFor),
  };
  if (!witness) return { alarms: [], ...remembered };
  const entries = calls.memberList(witness, false).map((member): EtcdMemberEntry => ({
    ...member,
    ours: member.peerURLs.every((url) => new URL(url).hostname.startsWith(`${objects.cluster.name}-`)),
  }));
  const { clusterVersion } = witness.dir.state;
  return {
    list: { clusterID: witness.dir.clusterID, linearizable: quorate !== undefined, members: entries },
    ...(quorate && clusterVersion ? { clusterVersion } : {}),
    alarms: quorate ? calls.alarms(quorate) : [],
    ...remembered,
  };
}

function ordinalIn(name: string): number {
  return Number(name.split("-").at(-1));
}

function offers(objects: Objects, records: readonly MemberRecord[]) {
  const planned = records.flatMap((record) =>
    record.boot === "New" ? record.initialCluster.map((peer) => ordinalIn(peer.name)) : [],
  );
  const highest = Math.max(
    0,
    objects.cluster.marks.highestOrdinal,
    ...records.map((record) => record.ordinal),
  );
  const next = Array.from({ length: OFFERS }, (_, i) => highest + 1 + i);
  return [...new Set([...planned, ...next])].map((ordinal) => ({
    ordinal,
    address: objects.address(ordinal),
  }));
}
