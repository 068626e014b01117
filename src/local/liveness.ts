/**
 * Ends a process that runs but does not live, as a kubelet's liveness probe would. Patient on purpose:
 * defragmentation silences a member for about 15 s per GB, and ending it then would begin it anew (H12).
 */
import { livenessPatienceMs } from "../core/assess/liveness.ts";
import type { MemberRecord } from "../core/record.ts";
import { deadline, type Clock } from "../seams/clock.ts";
import type { EtcdProbe } from "../seams/etcd-probe.ts";

const PROBE_EVERY_MS = 5_000;
const PROBE_TIMEOUT_MS = 4_000;
/** Passes over silent members take a second or two. */
const BLIND_MS = 15_000;

interface Pulse {
  /** The process this is about: another start is another patient. */
  readonly since: number;
  lastSeen: number;
  probedAt: number;
  lookedAt: number;
}

export class Liveness {
  readonly #clock: Clock;
  readonly #probe: EtcdProbe;
  readonly #pulses = new Map<string, Pulse>();

  constructor(clock: Clock, probe: EtcdProbe) {
    this.#clock = clock;
    this.#probe = probe;
  }

  /** Asks now and then, without waiting for the answer. True when its patience is at an end. */
  isDead(record: MemberRecord, since: number, answered: boolean): boolean {
    const now = this.#clock.monotonic();
    let pulse = this.#pulses.get(record.name);
    if (pulse?.since !== since) {
      pulse = { since, lastSeen: now, probedAt: now, lookedAt: now };
      this.#pulses.set(record.name, pulse);
    }
    // While nobody looked, nobody can say that it was silent: a step such as defragmentation takes its time.
    if (now - pulse.lookedAt > BLIND_MS) pulse.lastSeen += now - pulse.lookedAt;
    pulse.lookedAt = now;
    if (answered) pulse.lastSeen = now;
    else if (now - pulse.probedAt >= PROBE_EVERY_MS) void this.#ask(record, pulse, now);
    return now - pulse.lastSeen > livenessPatienceMs(record.template.options);
  }

  forget(name: string): void {
    this.#pulses.delete(name);
  }

  async #ask(record: MemberRecord, pulse: Pulse, now: number): Promise<void> {
    pulse.probedAt = now;
    using limit = deadline(this.#clock, PROBE_TIMEOUT_MS);
    if (await this.#probe.alive(record.address.metricsURL, limit.signal))
      pulse.lastSeen = this.#clock.monotonic();
  }
}
