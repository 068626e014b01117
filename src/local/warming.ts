/**
 * Members that start again do so one after another. Before it serves anybody, such a member compares its
 * data with its peers', and waits 7 s for each whose port is bound but not served yet: three that started
 * together were seen to wait 14 s for each other. One that is not there at all costs nothing.
 */
import { deadline, type Clock } from "../seams/clock.ts";
import type { EtcdProbe } from "../seams/etcd-probe.ts";

/** Beyond this the others do not wait: it may never serve. */
const LONGEST_MS = 5_000;
const PROBE_TIMEOUT_MS = 250;

export class Warming {
  readonly #clock: Clock;
  readonly #probe: EtcdProbe;
  #member: { readonly name: string; readonly metricsURL: string; readonly since: number } | undefined;

  constructor(clock: Clock, probe: EtcdProbe) {
    this.#clock = clock;
    this.#probe = probe;
  }

  began(name: string, metricsURL: string): void {
    this.#member = { name, metricsURL, since: this.#clock.monotonic() };
  }

  /** The member that has to serve first, if any. */
  async inTheWayOf(name: string, runs: (name: string) => boolean): Promise<string | undefined> {
    const member = this.#member;
    if (!member || member.name === name) return undefined;
    const over = this.#clock.monotonic() - member.since > LONGEST_MS;
    if (over || !runs(member.name) || (await this.#serves(member.metricsURL))) {
      this.#member = undefined;
      return undefined;
    }
    return member.name;
  }

  async #serves(metricsURL: string): Promise<boolean> {
    using limit = deadline(this.#clock, PROBE_TIMEOUT_MS);
    return await this.#probe.alive(metricsURL, limit.signal);
  }
}
