/**
 * What others know of a member that does not answer us (H16): whether its peers are connected to it, and whether its
 * process serves at all. Asked on the plain metrics ports, which need neither certificates nor credentials (R37, R42), and
 * only about such members.
 */
import type { EtcdFacts, MemberFacts } from "../core/observation.ts";
import { isAt } from "../core/view.ts";
import { deadline, type Clock } from "../seams/clock.ts";
import { ASK_TIMEOUT_MS } from "./asked-member.ts";
import type { Platform, PlatformMember } from "./platform.ts";

/** All metrics of a member are some hundred kilobytes: what peers said holds for as long as etcd takes to notice. */
const PEERS_EVERY_MS = 5_000;

export type PeerEvidence = Pick<MemberFacts, "seenByPeers" | "alive">;

export interface Silent {
  readonly member: PlatformMember;
  /** Its process has answered us before. */
  readonly answeredBefore: boolean;
}

export class Peers {
  readonly #platform: Platform;
  readonly #clock: Clock;
  readonly #heard = new Map<string, { readonly at: number; readonly seen: boolean | undefined }>();

  constructor(platform: Platform, clock: Clock) {
    this.#platform = platform;
    this.#clock = clock;
  }

  /** By name of the silent member. */
  async ask(
    silent: readonly Silent[],
    members: readonly PlatformMember[],
    list: EtcdFacts["list"],
  ): Promise<ReadonlyMap<string, PeerEvidence>> {
    const names = new Set(silent.map(({ member }) => member.record.name));
    for (const name of this.#heard.keys()) if (!names.has(name)) this.#heard.delete(name);
    const asked = await Promise.all(
      silent.map(async (one) => {
        const [seenByPeers, alive] = await Promise.all([
          mayBeSeen(one, list) ? this.#seen(one.member, members, list) : undefined,
          isAliveAsked(one.member, list) ? this.#alive(one.member) : undefined,
        ]);
        const evidence: PeerEvidence = {
          ...(seenByPeers !== undefined && { seenByPeers }),
          ...(alive !== undefined && { alive }),
        };
        return [one.member.record.name, evidence] as const;
      }),
    );
    return new Map(asked);
  }

  async #alive({ record }: PlatformMember): Promise<boolean> {
    using limit = deadline(this.#clock, ASK_TIMEOUT_MS);
    return await this.#platform.probe.alive(this.#platform.metricsURL(record), limit.signal);
  }

  async #seen(
    { record }: PlatformMember,
    members: readonly PlatformMember[],
    list: EtcdFacts["list"],
  ): Promise<boolean | undefined> {
    const id = record.memberID ?? list?.members.find((entry) => isAt(entry, record.address))?.id;
    if (id === undefined) return undefined;
    const now = this.#clock.monotonic();
    const known = this.#heard.get(record.name);
    if (known && now - known.at < PEERS_EVERY_MS) return known.seen;
    const others = members.filter((other) => other.record.name !== record.name && mayRun(other));
    const answers = await Promise.all(others.map((other) => this.#activePeers(other)));
    const heard = answers.filter((answer) => answer !== undefined);
    const seen = heard.length === 0 ? undefined : heard.some((active) => active.has(id));
    this.#heard.set(record.name, { at: now, seen });
    return seen;
  }

  async #activePeers({ record }: PlatformMember): Promise<ReadonlySet<string> | undefined> {
    using limit = deadline(this.#clock, ASK_TIMEOUT_MS);
    return await this.#platform.probe.activePeers(this.#platform.metricsURL(record), limit.signal);
  }
}

/**
 * As far as anybody can tell. What a silent kubelet last reported, and that its Pod was deleted since, says nothing: before
 * a person says that its node is off, everyone who can know is asked (H16).
 */
export function mayRun(member: PlatformMember): boolean {
  return member.workload.state === "running" || isOnSilentNode(member);
}

function isOnSilentNode({ workload, node }: PlatformMember): boolean {
  return workload.state !== "absent" && node?.kubelet === "silent";
}

/** With a quorum in sight nobody needs to know. */
function isAliveAsked(member: PlatformMember, list: EtcdFacts["list"]): boolean {
  if (list?.linearizable) return false;
  return member.record.joined || isOnSilentNode(member);
}

/** Peers are asked about one that is said to be ready, or that answered before; not about one that starts or is ill. */
function mayBeSeen({ member, answeredBefore }: Silent, list: EtcdFacts["list"]): boolean {
  const { record, workload } = member;
  // It is not ready for want of reports, whatever runs there.
  if (isOnSilentNode(member)) return true;
  if (workload.state !== "running") return false;
  const entry = list?.members.find((one) => isAt(one, record.address));
  if (entry?.isLearner) return record.joined;
  return workload.ready ?? answeredBefore;
}
