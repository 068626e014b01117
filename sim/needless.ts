/**
 * Intact data is removed only with need: a person asked for it, there are more voters than wanted, or the member was
 * truly down for as long as the spec says. That the operator could not see it, or did not make its workload, is no need
 * (H16). Judged by the model's truth when the intent is written, or at the call where there was none.
 */
import { Violation, type Oracle, type Subject } from "./oracle.ts";

/** What has to be known of the cluster beside what all oracles ask. */
export interface Keeping extends Subject {
  votersWanted(): number;
  lostAfterMs(): number;
  /** A person deleted its record. */
  isGivenUp(member: string): boolean;
  isLeaving(member: string): boolean;
  /** Something was made to run it, though it may not run yet. */
  hasWorkload(member: string): boolean;
}

/** A time in which the member was well, or was kept from running by nothing but a missing workload. */
interface Well {
  readonly from: number;
  until: number;
}

/** The operator may count from a little earlier than the model does. */
const SLACK_MS = 5_000;

export class Needless {
  readonly #keeping: Keeping;
  readonly #oracle: Oracle;
  /** The last such times of each voter, by etcd's ID. */
  readonly #well = new Map<string, readonly Well[]>();
  #lookedAt = -Infinity;

  constructor(keeping: Keeping, oracle: Oracle) {
    this.#keeping = keeping;
    this.#oracle = oracle;
  }

  /** To be called again and again: takes note of who is well. */
  look(now: number): void {
    const { voterNames, healthy } = this.#oracle.truth();
    for (const [id, name] of voterNames) {
      const isHeldBack = () => !this.#keeping.hasWorkload(name) && this.#isIntact(name, id);
      if (!healthy.has(id) && !isHeldBack()) continue;
      const times = this.#well.get(id) ?? [];
      const last = times.at(-1);
      if (last && last.until >= this.#lookedAt) last.until = now;
      else this.#well.set(id, [...times.slice(-1), { from: now, until: now }]);
    }
    this.#lookedAt = now;
  }

  /** A record is about to say that its member leaves; `seenAt` is when the operator looked. */
  mayLeave(member: string, seenAt: number): void {
    const { voterNames } = this.#oracle.truth();
    const entry = [...voterNames].find(([, name]) => name === member);
    if (entry && !this.#keeping.isLeaving(member)) this.#judge(entry[0], member, seenAt);
  }

  /** A call is about to remove it from etcd, on an intent that was judged before, or on none. */
  mayRemove(id: string, seenAt: number): void {
    const name = this.#oracle.truth().voterNames.get(id);
    if (name !== undefined && !this.#keeping.isLeaving(name)) this.#judge(id, name, seenAt);
  }

  #judge(id: string, member: string, seenAt: number): void {
    const { voterNames } = this.#oracle.truth();
    const others = [...voterNames.values()].filter((name) => name !== member);
    const staying = others.filter((name) => !this.#keeping.isLeaving(name));
    if (!this.#keeping.meantToServe() || this.#keeping.isGivenUp(member)) return;
    if (staying.length >= this.#keeping.votersWanted()) return;
    const isWell = this.#oracle.truth().healthy.has(id);
    if (!isWell && !this.#isIntact(member, id)) return;
    // Once copies differ, the odd one goes, and that may be the good one.
    if ([...voterNames].some(([, name]) => (this.#keeping.data(name)?.corruption ?? 0) !== 0)) return;
    const times = this.#well.get(id) ?? [];
    const wellAt = Math.max(
      ...times.map(({ from, until }) => (from <= seenAt ? Math.min(until, seenAt) : -Infinity)),
    );
    const downMs = seenAt - wellAt;
    if (downMs >= this.#keeping.lostAfterMs() - SLACK_MS) return;
    const why = isWell
      ? "it serves"
      : this.#keeping.hasWorkload(member)
        ? `it is down for ${Math.round(downMs / 1000)} s only`
        : "only its workload is missing";
    throw new Violation("H16", `${member} is removed without need: its data is intact, and ${why}`);
  }

  #isIntact(member: string, id: string): boolean {
    const dir = this.#keeping.data(member);
    return dir !== undefined && !dir.unreadable && dir.corruption === 0 && dir.memberID === id;
  }
}
