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
const UNOBSERVED_MS = 15_000;

interface ProbeState {
  /** The process this is about: another start is another patient. */
  readonly since: number;
  lastSeen: number;
  probedAt: number;
  lookedAt: number;
}

export class Liveness {
  readonly #clock: Clock;
  readonly #probe: EtcdProbe;
  readonly #pulses = new Map<string, ProbeState>();

  constructor(clock: Clock, probe: EtcdProbe) {
    this.#clock = clock;
    this.#probe = probe;
  }

  /** Asks now and then, without waiting for the answer. True when its patience is at an end. */
  isDead(record: MemberRecord, since: number, answered: boolean): boolean {
    const now = this.#clock.monotonic();
    let probeState = this.#pulses.get(record.name);
    if (probeState?.since !== since) {
      probeState = { since, lastSeen: now, probedAt: now, lookedAt: now };
      this.#pulses.set(record.name, probeState);
    }
    // While nobody looked, nobody can say that it was silent: a step such as defragmentation takes its time.
    if (now - probeState.lookedAt > UNOBSERVED_MS) probeState.lastSeen += now - probeState.lookedAt;
    probeState.lookedAt = now;
    if (answered) probeState.lastSeen = now;
    else if (now - probeState.probedAt >= PROBE_EVERY_MS) void this.#ask(record, probeState, now);
    return now - probeState.lastSeen > livenessPatienceMs(record.template.options);
  }

  forget(name: string): void {
    this.#pulses.delete(name);
  }

  async #ask(record: MemberRecord, probeState: ProbeState, now: number): Promise<void> {
    probeState.probedAt = now;
    using limit = deadline(this.#clock, PROBE_TIMEOUT_MS);
    if (await this.#probe.alive(record.address.metricsURL, limit.signal))
      probeState.lastSeen = this.#clock.monotonic();
  }
}
