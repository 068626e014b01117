/**
 * One observation: the platform's objects, and what etcd answers. Keeps what may be forgotten (since when
 * a member is unhealthy, hashes, compactions): losing it costs time, never safety. Times in an observation are by this
 * process's own clock; what another machine's clock says is only compared with itself.
 */
import type { AuthFacts } from "../core/auth/facts.ts";
import type {
  EtcdFacts,
  HashReport,
  MemberAnswer,
  MemberFacts,
  Observation,
  OperationFacts,
  WorkloadFacts,
} from "../core/observation.ts";
import { isFinished } from "../core/operations/status.ts";
import { viewOf } from "../core/view.ts";
import { EtcdClient } from "../etcd/client.ts";
import type { Clock } from "../seams/clock.ts";
import type { Endpoint } from "../seams/etcd-transport.ts";
import { AgreedVersion } from "./agreed-version.ts";
import { AuthReader } from "./auth.ts";
import { ClientsChoose } from "./clients-choose.ts";
import { askCluster, askMember, type Answered } from "./ask.ts";
import { mayRun, Peers, type PeerEvidence } from "./ask-peers.ts";
import { Memory } from "./memory.ts";
import { Endings } from "./endings.ts";
import { GoneSince } from "./gone-since.ts";
import { Growth } from "./growth.ts";
import { LogRate } from "./log-rate.ts";
import { OwnTime } from "./own-time.ts";
import type { Platform, PlatformMember, PlatformState } from "./platform.ts";
import { UnhealthySince } from "./unhealthy-since.ts";

/** A write of its status that failed so often is not waited for any more. */
const UNRECORDED_AFTER = 3;

export class Observer {
  readonly client: EtcdClient;
  readonly auth: AuthReader;
  readonly #platform: Platform;
  readonly #clock: Clock;
  /** What is remembered below is kept as its marks. */
  readonly #time: OwnTime;
  readonly #unhealthy = new UnhealthySince();
  readonly #endings = new Endings();
  readonly #gone = new GoneSince();
  readonly #peers: Peers;
  readonly #version: AgreedVersion;
  /** The start of the process that last answered, by member. */
  readonly #answeredSince = new Map<string, number>();
  /** Each member's workload as it was last seen, and since when it has been seen so. */
  readonly #seen = new Map<string, { readonly state: string; readonly at: number }>();
  #hashes: HashReport | undefined;
  #compacted: EtcdFacts["compacted"];
  #nudgedAt: number | undefined;
  readonly #defragmentedAt = new Map<string, number>();
  readonly #defragmentedFor = new Map<string, string>();
  /** By the name of the member; the empty one is for those who are none. */
  readonly #reissuedFor = new Map<string, string>();
  readonly #operationFailures = new Map<string, NonNullable<OperationFacts["failures"]>>();
  readonly #unrecorded = new Map<string, { readonly count: number; readonly error: string; at: number }>();
  /** By their UID: when operations were first seen to be finished. */
  readonly #finished = new Map<string, number>();
  readonly #disarmedAt = new Map<string, number>();
  readonly #memory = new Memory();
  readonly #logRate = new LogRate();
  readonly #growth = new Growth();
  readonly #clientsChoose = new ClientsChoose();
  #progressAt: number;

  constructor(platform: Platform, clock: Clock) {
    this.#platform = platform;
    this.#clock = clock;
    this.#time = new OwnTime(clock);
    this.#progressAt = this.#time.mark();
    this.#peers = new Peers(platform, clock);
    this.#version = new AgreedVersion(platform.probe, clock);
    const credentials = platform.logins && { credentials: () => platform.logins?.() ?? [] };
    this.client = new EtcdClient({ transport: platform.transport, clock, endpoints: [], ...credentials });
    this.auth = new AuthReader(this.client, platform, clock);
  }

  /** Undefined when the cluster does not exist (any more). */
  async observe(): Promise<Observation | undefined> {
    const state = await this.#platform.read();
    if (state === undefined) return undefined;
    const askedAt = this.#time.mark();
    const [asked, trusts] = await Promise.all([
      this.#ask(state.members),
      this.#platform.lookAtTrust?.(state.members),
    ]);
    const etcd = { ...asked.cluster, ...this.#remembered() };
    const now = this.#clock.now();
    const members = state.members.map((member, index): MemberFacts => {
      const answer = asked.answers[index] ?? { reachable: false, error: "not asked" };
      const workload = this.#bySight(member);
      const trust = trusts?.get(member.record.name);
      const testimony = asked.testimonies.get(member.record.name);
      return { ...member, workload, answer, ...(trust && { trust }), ...testimony };
    });
    const platform = {
      ...state.platform,
      progressAt: this.#time.wall(this.#progressAt),
      ...(this.#reissuedFor.size > 0 && { reissuedFor: Object.fromEntries(this.#reissuedFor) }),
    };
    const judged = this.#memory.judge(state.cluster, members, this.#platform.lastStatus?.(), askedAt);
    const { cluster } = state;
    const operations = this.#operations(state.operations);
    const { snapshots } = state;
    const auth = await this.#auth(state, etcd.list?.linearizable === true);
    const serverNow = this.#platform.serverNow?.();
    const observation = {
      now,
      ...(serverNow !== undefined && { serverNow }),
      cluster,
      members: judged,
      etcd,
      platform,
      operations,
      ...(snapshots && { snapshots }),
      ...(auth && { auth }),
    };
    return this.#withTimers(await this.#inspected(await this.#confirmed(observation)));
  }

  async #auth({ cluster, auth, members }: PlatformState, quorate: boolean): Promise<AuthFacts | undefined> {
    if (auth === undefined) return undefined;
    return await this.auth.facts(cluster, auth, quorate, members);
  }

  /** An entry of ours without a record would be removed as a ghost: is there really none? */
  async #confirmed(observation: Observation): Promise<Observation> {
    const platform = this.#platform;
    const { list } = observation.etcd;
    const ghosts = platform.isUnrecorded ? viewOf(observation).unrecorded.filter(({ ours }) => ours) : [];
    const unconfirmed = new Set<string>();
    for (const ghost of ghosts) if (!(await platform.isUnrecorded?.(ghost))) unconfirmed.add(ghost.id);
    if (!list || unconfirmed.size === 0) return observation;
    const entries = list.members.map((entry) =>
      unconfirmed.has(entry.id) ? { ...entry, recordUnconfirmed: true } : entry,
    );
    return { ...observation, etcd: { ...observation.etcd, list: { ...list, members: entries } } };
  }

  /** Without quorum it counts what the members' directories hold, and how far the cluster had come. */
  async #inspected(observation: Observation): Promise<Observation> {
    const view = viewOf(observation);
    if (!this.#platform.inspect || !view.established || view.hasQuorum || view.spec.replicas === 0)
      return observation;
    const found = await this.#platform.inspect(observation.members, view);
    const members = observation.members.map((facts) => {
      const directory = found[facts.record.name];
      return directory ? { ...facts, directory } : facts;
    });
    const { revision, quorumAt, looks } = this.#memory;
    const etcd = {
      ...observation.etcd,
      highestRevision: revision,
      ...(quorumAt !== undefined && { quorumSeenAt: this.#time.wall(quorumAt) }),
      ...(looks.length > 0 && {
        revisionLooks: looks.map((look) => ({ ...look, at: this.#time.wall(look.at) })),
      }),
    };
    return { ...observation, members, etcd };
  }

  /** What this process did, with the times as of now. */
  #remembered(): Omit<EtcdFacts, "list" | "clusterVersion" | "alarms"> {
    const wall = (mark: number) => this.#time.wall(mark);
    const walls = (marks: ReadonlyMap<string, number>) =>
      Object.fromEntries([...marks].map(([name, mark]) => [name, wall(mark)]));
    return {
      ...(this.#hashes && { hashes: { ...this.#hashes, at: wall(this.#hashes.at) } }),
      ...(this.#compacted && { compacted: { ...this.#compacted, at: wall(this.#compacted.at) } }),
      ...(this.#nudgedAt !== undefined && { nudgedAt: wall(this.#nudgedAt) }),
      ...(this.#disarmedAt.size > 0 && { disarmedAt: walls(this.#disarmedAt) }),
      defragmentedAt: walls(this.#defragmentedAt),
      ...(this.#defragmentedFor.size > 0 && { defragmentedFor: Object.fromEntries(this.#defragmentedFor) }),
    };
  }

  /**
   * The workload, since when we have seen it so. A node's clock may be minutes off ours: its times tell one run from
   * another, and never how long ago something was.
   */
  #bySight({ record: { name }, workload }: PlatformMember): WorkloadFacts {
    if (workload.state === "absent") {
      this.#seen.delete(name);
      return workload;
    }
    const run = "restarts" in workload ? workload.restarts : 0;
    const state = `${workload.state} ${workload.since} ${run} ${workload.startedFrom}`;
    let seen = this.#seen.get(name);
    if (seen?.state !== state) this.#seen.set(name, (seen = { state, at: this.#time.mark() }));
    return { ...workload, since: this.#time.wall(seen.at) };
  }

  /** What a short look learned: without quorum it counts how far the cluster had come, and when. */
  noteRead(...[answer, at]: Parameters<Memory["noteRead"]>): void {
    this.#memory.noteRead(answer, at);
  }

  /** A step succeeded, or a wait ended. */
  progressed(): void {
    this.#progressAt = this.#time.mark();
  }
  rememberHashes(report: Omit<HashReport, "at">): void {
    this.#hashes = { ...report, at: this.#time.mark() };
  }
  rememberCompaction(revision: number): void {
    this.#compacted = { revision, at: this.#time.mark() };
  }
  rememberNudge(): void {
    this.#nudgedAt = this.#time.mark();
  }
  rememberDisarming(memberID: string): void {
    this.#disarmedAt.set(memberID, this.#time.mark());
  }
  rememberDefragmentation(member: string, operation?: string): void {
    this.#defragmentedAt.set(member, this.#time.mark());
    if (operation !== undefined) this.#defragmentedFor.set(member, operation);
  }
  rememberReissue(member: string | undefined, operation: string): void {
    this.#reissuedFor.set(member ?? "", operation);
  }
  /** A step of this operation, by its UID, succeeded or failed. */
  rememberOperation(uid: string, error?: string): void {
    const count = (this.#operationFailures.get(uid)?.count ?? 0) + 1;
    if (error === undefined) this.#operationFailures.delete(uid);
    else this.#operationFailures.set(uid, { count, error });
  }

  /** The status of this operation, by its name, was written or could not be. */
  rememberRecording(name: string, error?: string): void {
    if (error === undefined) this.#unrecorded.delete(name);
    else {
      const count = (this.#unrecorded.get(name)?.count ?? 0) + 1;
      this.#unrecorded.set(name, { count, error, at: this.#time.mark() });
    }
  }

  /** With what this process knows of them, and without what it knows of others. */
  #operations(operations: readonly OperationFacts[]): readonly OperationFacts[] {
    const finished = operations.filter(isFinished);
    for (const { uid } of finished) if (!this.#finished.has(uid)) this.#finished.set(uid, this.#time.mark());
    if (this.#operationFailures.size + this.#unrecorded.size + this.#finished.size === 0) return operations;
    for (const uid of this.#finished.keys())
      if (!finished.some((operation) => operation.uid === uid)) this.#finished.delete(uid);
    for (const uid of this.#operationFailures.keys())
      if (!operations.some((operation) => operation.uid === uid)) this.#operationFailures.delete(uid);
    for (const name of this.#unrecorded.keys())
      if (!operations.some((operation) => operation.name === name)) this.#unrecorded.delete(name);
    return operations.map((operation) => {
      const failures = this.#operationFailures.get(operation.uid);
      const { count = 0, error = "", at = 0 } = this.#unrecorded.get(operation.name) ?? {};
      const unrecorded = count >= UNRECORDED_AFTER && { at: this.#time.wall(at), error };
      const since = this.#finished.get(operation.uid);
      return {
        ...operation,
        ...(failures && { failures }),
        ...(unrecorded && { unrecorded }),
        ...(since !== undefined && { finishedSince: this.#time.wall(since) }),
      };
    });
  }

  async #ask(members: readonly PlatformMember[]) {
    const results = await Promise.all(members.map((member) => this.#askOne(member)));
    const answered = results.filter((result) => result !== undefined);
    this.client.setEndpoints(answered.flatMap(usableEndpoint));
    const isOurs = (peerURL: string) => this.#platform.isOurs(peerURL);
    const cluster = await askCluster(this.client, this.#version, answered, isOurs);
    const answers = results.map(
      (result) => result?.asked.answer ?? { reachable: false as const, error: "no process runs" },
    );
    return { cluster, answers, testimonies: await this.#askOthers(members, answers, cluster.list) };
  }

  /** About those that run, or may, and do not answer us. */
  async #askOthers(
    members: readonly PlatformMember[],
    answers: readonly MemberAnswer[],
    list: EtcdFacts["list"],
  ): Promise<ReadonlyMap<string, PeerEvidence>> {
    const silent = members.filter((member, index) => mayRun(member) && !answers[index]?.reachable);
    const withPast = silent.map((member) => ({ member, answeredBefore: this.#hasAnswered(member) }));
    return await this.#peers.ask(withPast, members, list);
  }

  #hasAnswered({ record, workload }: PlatformMember): boolean {
    return workload.state === "running" && this.#answeredSince.get(record.name) === workload.since;
  }

  /** How long it has been seen to run, while it has not answered. One that is ready answers others, if not us yet. */
  #startingMs(member: PlatformMember): number | undefined {
    const isReady = member.workload.state === "running" && member.workload.ready === true;
    if (isReady || this.#hasAnswered(member)) return undefined;
    this.#bySight(member);
    const { at = this.#time.mark() } = this.#seen.get(member.record.name) ?? {};
    return this.#time.mark() - at;
  }

  async #askOne(member: PlatformMember): Promise<Answered | undefined> {
    const { record, workload } = member;
    const runs = workload.state === "running";
    // Its kubelet may not hear that it is to end: then it serves on. Most are silent, and get little time.
    const isOverdue = workload.state === "stopping" && workload.overdue === true && !record.leaving;
    if (!runs && !isOverdue && !isTaken(workload)) return undefined;
    const endpoint = this.#platform.endpoint(record);
    const startingMs = runs ? this.#startingMs(member) : isOverdue ? 0 : undefined;
    const asked = await askMember(this.client, endpoint, startingMs);
    if (runs && asked.answer.reachable) this.#answeredSince.set(record.name, workload.since);
    return { endpoint, asked };
  }

  /** Adds since when each member has not been healthy, as far as this process knows. */
  #withTimers(observation: Observation): Observation {
    const view = viewOf(observation);
    const present = new Set(view.members.map((member) => member.name));
    for (const known of [this.#answeredSince, this.#seen, this.#defragmentedAt, this.#defragmentedFor]) {
      for (const name of known.keys()) if (!present.has(name)) known.delete(name);
    }
    const at = this.#time.mark();
    this.#unhealthy.see(view, at);
    this.#endings.see(view.members, at);
    this.#gone.see(view, at);
    const members = observation.members.map((facts) => {
      const since = this.#unhealthy.of(facts.record.name);
      const ends = this.#endings.of(facts.record.name);
      const gone = this.#gone.of(facts.record.uid);
      if (since === undefined && ends === 0 && gone === undefined) return facts;
      return {
        ...facts,
        ...(since !== undefined && { unhealthySince: this.#time.wall(since) }),
        ...(ends > 0 && { ends }),
        ...(gone !== undefined && { goneSince: this.#time.wall(gone) }),
      };
    });
    const entriesPerSecond = this.#logRate.measured(view, at);
    const bytesPerSecond = this.#growth.measured(view, at);
    const etcd = {
      ...observation.etcd,
      ...(entriesPerSecond !== undefined && { entriesPerSecond }),
      ...(bytesPerSecond !== undefined && { bytesPerSecond }),
    };
    const choose = this.#clientsChoose.since(view, at);
    const platform = {
      ...observation.platform,
      ...(choose !== undefined && { clientsChooseSince: this.#time.wall(choose) }),
    };
    return { ...observation, etcd, members, platform };
  }
}

/** What bears its name belongs to somebody else by now, and may be its own Pod that lost its owner: it serves on (I6). */
function isTaken(workload: WorkloadFacts): boolean {
  return workload.state === "absent" && workload.notMade?.reason === "NameClash";
}

/** Members that answered, with what they said of themselves: a learner is never asked for more (R17). */
function usableEndpoint({ endpoint, asked: { answer } }: Answered): Endpoint[] {
  return answer.reachable ? [{ ...endpoint, learner: answer.isLearner }] : [];
}
