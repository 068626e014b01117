/**
 * I6 at every moment, and not only at the end: what the status says may not contradict the truth of the model for
 * longer than it takes to look again. `Unknown` contradicts nothing. Only while some operator could have told.
 */
import type { EtcdCluster } from "../../src/api/etcd-cluster.ts";
import type { EtcdMember } from "../../src/api/etcd-member.ts";
import type { EtcdClusterStatus } from "../../src/api/etcd-cluster-status.ts";
import { quorum } from "../../src/core/quorum.ts";
import { findCondition } from "../../src/core/status/condition.ts";
import { serviceNames } from "../../src/operator/names.ts";
import { isFenced } from "../../src/operator/records/member-object.ts";
import type { Server } from "../models/etcd/server.ts";
import { services } from "../models/kube/kinds/service.ts";
import { json } from "../models/kube/object.ts";
import { Violation, type Oracle } from "../oracles/oracle.ts";
import { NAME, NAMESPACE, type Environment } from "./environment.ts";

/**
 * A cluster at rest is looked at every 5 s, a call to a member that hangs takes 5 s more, a new operator waits 15 s for
 * the lease, and a write that failed is tried again within 10 s.
 */
const PERIOD_MS = 45_000;
/** Told as lost for good, which a person may act on. */
const LOST = new Set(["DataGone", "QuorumLost"]);
/** Nothing is to be done, because the spec says so. */
const AT_REST = new Set(["Paused", "Hibernated", "Deleting"]);

const CLIENT_SERVICE = `${NAMESPACE}/${serviceNames(NAME).client}`;

/** The run that is judged. */
interface Run {
  readonly env: Environment;
  readonly oracle: Oracle;
  /** Some operator could have told. */
  readonly attended: boolean;
}

export class StatusTruth {
  readonly #sim: Run;
  /** Since when each contradiction has lasted. */
  readonly #since = new Map<string, number>();

  constructor(sim: Run) {
    this.#sim = sim;
  }

  look(now: number): void {
    const found = this.#sim.attended ? this.#contradictions() : [];
    for (const one of this.#since.keys()) if (!found.includes(one)) this.#since.delete(one);
    const [lie] = this.#sim.attended ? this.#lies() : [];
    if (lie !== undefined) throw new Violation("I6", lie);
    for (const one of found) {
      const since = this.#since.get(one) ?? now;
      this.#since.set(one, since);
      if (now - since > PERIOD_MS)
        throw new Violation("I6", `for ${Math.round((now - since) / 1000)} s ${one}`);
    }
  }

  #contradictions(): string[] {
    const { env, oracle } = this.#sim;
    if (env.established() === undefined || !env.subject.meantToServe()) return [];
    const { status } = json(env.cluster()) as { status?: EtcdClusterStatus };
    const { voters, voterIDs, healthy } = oracle.truth();
    const running = env.world.network.all().filter((server) => server.runs);
    // A process behind a wall serves those there, and nobody here, and one in a Pod that is being deleted is about to go,
    // and no Service leads to it: of both either may be said.
    const ending = new Set(
      env.memberPods().flatMap(({ metadata }) => (metadata.deletionTimestamp ? [metadata.name] : [])),
    );
    const inSight = running.filter(
      (server) =>
        healthy.has(server.id) &&
        !env.cutOff.includes(env.pods.nodeOf(server) ?? "") &&
        !ending.has(server.config.name),
    ).length;
    const serves = (some: number) => voters > 0 && some >= quorum(voters);
    const hasAlarm = running.some(
      (server) => env.world.raftOf(server).leader === server && server.dir.state.alarms.size > 0,
    );
    const reported = (type: string) => findCondition(status?.conditions, type);
    const found: string[] = [...this.#ledByFenced(running, serves(inSight))];
    const isShutOut = this.#isShutOut(voterIDs, healthy) || this.#isUnopened(reported("Available")?.reason);
    for (const type of ["Quorate", "Available"]) {
      const { status: says, reason } = reported(type) ?? {};
      if (says === "True" && (!serves(healthy.size) || (type === "Available" && hasAlarm)))
        found.push(`the status says ${type}, and ${healthy.size} of ${voters} voters serve`);
      if (says === "False" && serves(inSight) && !hasAlarm && !(type === "Available" && isShutOut))
        found.push(`the status says not ${type} (${reason}), and ${inSight} of ${voters} voters serve`);
    }
    const down = [...voterIDs].filter((id) => !healthy.has(id) && this.#isJoined(id));
    if (reported("Degraded")?.status === "False" && down.length > 0)
      found.push(`the status says not Degraded, and ${down.join(", ")} is down`);
    const { status: ready, reason: why = "" } = reported("Ready") ?? {};
    if (ready === "True" && (down.length > 0 || healthy.size < voters || hasAlarm))
      found.push(`the status says Ready, and ${healthy.size} of ${voters} voters serve`);
    const isPending = ["Reconciling", "Stalled"].some((type) => reported(type)?.status === "True");
    if (ready === "False" && !isPending && !AT_REST.has(why))
      found.push(`the status says not Ready (${why}), and neither Reconciling nor Stalled`);
    const reason = reported("Quorate")?.reason;
    if (reason !== undefined && LOST.has(reason) && hasQuorumOfData(this.#sim))
      found.push(`the status says ${reason}, and a quorum of the data is there`);
    return found;
  }

  /** Clients of a new cluster are let in when its members are known to restart with their own data. */
  #isUnopened(reason: string | undefined): boolean {
    return reason === "Booting" && this.#sim.env.server.get(services, CLIENT_SERVICE) === undefined;
  }

  /** Some voter is fenced, and no other one serves: then clients are sent nowhere, and the cluster is not available. */
  #isShutOut(voterIDs: ReadonlySet<string>, healthy: ReadonlySet<string>): boolean {
    const voters = this.#sim.env.members().filter(({ spec }) => voterIDs.has(String(json(spec)["memberID"])));
    const fenced = voters.filter((member) => isFenced(member as unknown as EtcdMember));
    return (
      fenced.length > 0 &&
      voters.every(
        (member) => fenced.includes(member) || !healthy.has(String(json(member["spec"])["memberID"])),
      )
    );
  }

  /** A fenced member leads although another healthy voter could; a paused cluster is left as it is. */
  #ledByFenced(running: readonly Server[], isServed: boolean): string[] {
    const { env, oracle } = this.#sim;
    const { spec } = json(env.cluster()) as unknown as Partial<EtcdCluster>;
    if (!isServed || spec?.paused === true) return [];
    const fenced = new Set(
      env.members().flatMap((one) => (isFenced(one as unknown as EtcdMember) ? [one.metadata.name] : [])),
    );
    const leader = running.find((server) => env.world.raftOf(server).leader === server);
    const { healthy } = oracle.truth();
    const could = running.filter(
      (server) => healthy.has(server.id) && env.reaches(server) && !fenced.has(server.config.name),
    );
    if (!leader || !env.reaches(leader) || !fenced.has(leader.config.name) || could.length === 0) return [];
    return [`${leader.config.name} leads and is fenced, and ${could[0]?.config.name} could lead`];
  }

  /** What no delay excuses: it is about the spec, which only the operator applies, or about the status alone. */
  #lies(): string[] {
    const { env, oracle } = this.#sim;
    const object = env.cluster();
    const { status, spec, metadata } = json(object) as unknown as Partial<EtcdCluster>;
    const is = (type: string) => findCondition(status?.conditions, type)?.status === "True";
    if (is("Reconciling") && is("Stalled")) return ["the status says both Reconciling and Stalled"];
    // Before it was looked at, a status is about another spec, and says so.
    if (!is("Ready") || !spec || status?.observedGeneration !== metadata?.generation) return [];
    const isBehind = status?.conditions?.some((one) => one.observedGeneration !== metadata?.generation);
    if (isBehind) return ["the status is about the newest spec, and a condition of it is not"];
    if (is("Reconciling") || is("Stalled")) return ["the status says Ready, and that work is left"];
    const { voterIDs } = oracle.truth();
    const others = env.world.network
      .all()
      // One that is still booting has no ID.
      .filter((server) => server.runs && voterIDs.has(server.id) && server.version !== spec.version);
    return others.map(
      ({ id, version }) => `the status says Ready for etcd ${spec.version}, and ${id} runs ${version}`,
    );
  }

  /** A newcomer on its first way in is no loss. */
  #isJoined(id: string): boolean {
    return this.#sim.env
      .members()
      .some(({ spec }) => json(spec)["memberID"] === id && json(spec)["joined"] === true);
  }
}

/** More than half of the voters, as the newest of them knows them, still have their data. */
export function hasQuorumOfData({ env }: Pick<Run, "env">): boolean {
  const kept = env.members().flatMap(({ metadata }) => env.subject.data(metadata.name) ?? []);
  const dirs = kept.filter(
    (dir) => !dir.unreadable && !dir.rolledBack && dir.clusterID === env.established(),
  );
  const newest = dirs.toSorted((a, b) => b.log.length - a.log.length)[0];
  const voters = newest?.state.voters() ?? [];
  const there = voters.filter(({ id }) => dirs.some(({ memberID }) => memberID === id));
  return voters.length > 0 && there.length >= quorum(voters.length);
}
