/**
 * The version that the whole cluster speaks. It is told over a connection of its own, and so it is asked for only while
 * it can change: once it is the minor that every member runs, it stays, as long as they do and no downgrade begins (R15).
 */
import { minorOf } from "../core/version/version.ts";
import { deadline, type Clock } from "../seams/clock.ts";
import type { EtcdProbe } from "../seams/etcd-probe.ts";
import type { Endpoint } from "../seams/etcd-transport.ts";
import { ASK_TIMEOUT_MS, type AskedMember } from "./asked-member.ts";

export class AgreedVersion {
  readonly #probe: Pick<EtcdProbe, "versions">;
  readonly #clock: Clock;
  /** The members with which it cannot change. */
  #settled: { readonly by: string; readonly version: string } | undefined;

  constructor(probe: Pick<EtcdProbe, "versions">, clock: Clock) {
    this.#probe = probe;
    this.#clock = clock;
  }

  /** Undefined while it is unknown. */
  async ask(witness: Endpoint, members: readonly AskedMember[]): Promise<string | undefined> {
    const same = inAgreement(members);
    if (same !== undefined && this.#settled?.by === same.by) return this.#settled.version;
    using limit = deadline(this.#clock, ASK_TIMEOUT_MS);
    try {
      const { cluster } = await this.#probe.versions(witness, limit.signal);
      const version = cluster === undefined ? undefined : minorOf(cluster);
      this.#settled = same && version === same.minor ? { by: same.by, version } : undefined;
      return version;
    } catch {
      return undefined;
    }
  }
}

/** The minor that all of them run; undefined when one is silent, runs another or is about to. */
function inAgreement(members: readonly AskedMember[]): { by: string; minor: string } | undefined {
  const minors = new Set<string>();
  let by = "";
  for (const { answer } of members) {
    if (!answer.reachable || answer.downgrade?.enabled) return undefined;
    minors.add(minorOf(answer.version));
    by += ` ${answer.clusterID}/${answer.memberID}/${answer.version}`;
  }
  const [minor, ...others] = minors;
  return minor === undefined || others.length > 0 ? undefined : { by, minor };
}
