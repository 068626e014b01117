/**
 * One observation: the platform's objects, and what etcd answers. Keeps what may be forgotten (since when
 * a member is unhealthy, hashes, compactions): losing it costs time, never safety.
 */
import type { EtcdFacts, HashReport, MemberFacts, Observation } from "../core/observation.ts";
import type { MemberTemplate } from "../core/record.ts";
import { sameTemplate } from "../core/template.ts";
import { viewOf } from "../core/view.ts";
import { EtcdClient } from "../etcd/client.ts";
import type { Clock } from "../seams/clock.ts";
import type { Endpoint } from "../seams/etcd-transport.ts";
import { askCluster, askMember, type Answered } from "./ask.ts";
import type { Platform, PlatformMember } from "./platform.ts";

export class Observer {
  readonly client: EtcdClient;
  readonly #platform: Platform;
  readonly #clock: Clock;
  /** Since when, and with which template: another one is another chance, and must not be judged by what was before. */
  readonly #unhealthySince = new Map<string, { readonly at: number; readonly template: MemberTemplate }>();
  /** The start of the process that last answered, by member. */
  readonly #answeredSince = new Map<string, number>();
  #hashes: HashReport | undefined;
  #compacted: EtcdFacts["compacted"];
  #nudgedAt: number | undefined;
  readonly #defragmentedAt = new Map<string, number>();
  #progressAt: number;

  constructor(platform: Platform, clock: Clock) {
    this.#platform = platform;
    this.#clock = clock;
    this.#progressAt = clock.now();
    this.client = new EtcdClient({ transport: platform.transport, clock, endpoints: [] });
  }

  /** Undefined when the cluster does not exist (any more). */
  async observe(): Promise<Observation | undefined> {
    const state = await this.#platform.read();
    if (state === undefined) return undefined;
    const asked = await this.#ask(state.members);
    const etcd: EtcdFacts = {
      ...asked.cluster,
      ...(this.#hashes && { hashes: this.#hashes }),
      ...(this.#compacted && { compacted: this.#compacted }),
      ...(this.#nudgedAt !== undefined && { nudgedAt: this.#nudgedAt }),
      defragmentedAt: Object.fromEntries(this.#defragmentedAt),
    };
    const now = this.#clock.now();
    const members = state.members.map((member, index): MemberFacts => {
      const answer = asked.answers[index] ?? { reachable: false, error: "not asked" };
      return { ...member, answer };
    });
    const platform = { ...state.platform, progressAt: this.#progressAt };
    return this.#withTimers({ now, cluster: state.cluster, members, etcd, platform });
  }

  /** A step succeeded, or a wait ended. */
  progressed(): void {
    this.#progressAt = this.#clock.now();
  }
  rememberHashes(report: HashReport): void {
    this.#hashes = report;
  }
  rememberCompaction(revision: number): void {
    this.#compacted = { revision, at: this.#clock.now() };
  }
  rememberNudge(): void {
    this.#nudgedAt = this.#clock.now();
  }
  rememberDefragmentation(member: string): void {
    this.#defragmentedAt.set(member, this.#clock.now());
  }

  async #ask(members: readonly PlatformMember[]) {
    const results = await Promise.all(members.map((member) => this.#askOne(member)));
    const answered = results.filter((result) => result !== undefined);
    this.client.setEndpoints(answered.flatMap(usableEndpoint));
    const isOurs = (peerURL: string) => this.#platform.isOurs(peerURL);
    const cluster = await askCluster(this.client, this.#platform.probe, this.#clock, answered, isOurs);
    const answers = results.map(
      (result) => result?.asked.answer ?? { reachable: false as const, error: "no process runs" },
    );
    return { cluster, answers };
  }

  async #askOne({ record, workload }: PlatformMember): Promise<Answered | undefined> {
    if (workload.state !== "running") return undefined;
    const endpoint = this.#platform.endpoint(record);
    const starting = this.#answeredSince.get(record.name) !== workload.since;
    const asked = await askMember(this.client, endpoint, starting);
    if (asked.answer.reachable) this.#answeredSince.set(record.name, workload.since);
    return { endpoint, asked };
  }

  /** Adds since when each member has not been healthy, as far as this process knows. */
  #withTimers(observation: Observation): Observation {
    const view = viewOf(observation);
    const present = new Set(view.members.map((member) => member.name));
    for (const known of [this.#unhealthySince, this.#answeredSince, this.#defragmentedAt]) {
      for (const name of known.keys()) if (!present.has(name)) known.delete(name);
    }
    for (const { name, healthy, record } of view.members) {
      // A member that sleeps on purpose is not ill: else it would be replaced the moment it wakes.
      const known = this.#unhealthySince.get(name);
      if (healthy || !record.run) this.#unhealthySince.delete(name);
      else if (!known || !sameTemplate(known.template, record.template))
        this.#unhealthySince.set(name, { at: observation.now, template: record.template });
      // The clock was set back: it may not be waited for until that time comes again.
      else if (known.at > observation.now) this.#unhealthySince.set(name, { ...known, at: observation.now });
    }
    const members = observation.members.map((facts) => {
      const unhealthySince = this.#unhealthySince.get(facts.record.name)?.at;
      return unhealthySince === undefined ? facts : { ...facts, unhealthySince };
    });
    return { ...observation, members };
  }
}

/** Members that answered, with what they said of themselves: a learner is never asked for more (R17). */
function usableEndpoint({ endpoint, asked: { answer } }: Answered): Endpoint[] {
  return answer.reachable ? [{ ...endpoint, learner: answer.isLearner }] : [];
}
