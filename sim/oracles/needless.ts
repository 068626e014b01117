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
  /** A person deleted its record, or approved that it is replaced. */
  isGivenUp(member: string): boolean;
  isLeaving(member: string): boolean;
  /** Something was made to run it, though it may not run yet. */
  hasWorkload(member: string): boolean;
}

/** How long a voter has been down by itself. */
interface Down {
  /** When it was last seen well. */
  readonly since: number;
  /** For how long of that time it had its data and only nothing was made to run it. */
  lackingMs: number;
  /** When it was well again. */
  until: number;
}

/** The operator may count from a little earlier than the model does. */
const SLACK_MS = 5_000;
/** Who is well for less is counted on: one that flaps is not spared for ever (src/control/unhealthy-since.ts). */
const SETTLED_MS = 10_000;

export class Needless {
  readonly #keeping: Keeping;
  readonly #oracle: Oracle;
  /** The present or last time of each voter in which it was down, by etcd's ID. */
  readonly #down = new Map<string, Down>();
  readonly #wellAt = new Map<string, number>();
  #lookedAt = -Infinity;
  /** One of the first voters that never served is down since the first look, not since the others formed a cluster. */
  #firstLookAt: number | undefined;
  #founders: ReadonlySet<string> = new Set();

  constructor(keeping: Keeping, oracle: Oracle) {
    this.#keeping = keeping;
    this.#oracle = oracle;
  }

  /** To be called again and again: takes note of who is well. */
  look(now: number): void {
    const { voterNames, healthy } = this.#oracle.truth();
    this.#firstLookAt ??= now;
    if (this.#founders.size === 0) this.#founders = new Set(voterNames.keys());
    for (const [id, name] of voterNames) {
      const down = this.#down.get(id);
      const isDown = down?.until === Infinity;
      if (healthy.has(id)) {
        if (isDown) down.until = now;
        this.#wellAt.set(id, now);
        continue;
      }
      const known = isDown ? down : this.#begin(down, this.#wellAt.get(id) ?? this.#neverWell(id, now));
      if (!this.#keeping.hasWorkload(name) && this.#isIntact(name, id))
        known.lackingMs += now - Math.max(known.since, this.#lookedAt);
      this.#down.set(id, known);
    }
    this.#lookedAt = now;
  }

  #neverWell(id: string, now: number): number {
    return this.#founders.has(id) ? (this.#firstLookAt ?? now) : now;
  }

  #begin(before: Down | undefined, since: number): Down {
    const isFlapping = before !== undefined && since - before.until < SETTLED_MS;
    const countedMs = isFlapping ? before.until - before.since : 0;
    return { since: since - countedMs, lackingMs: isFlapping ? before.lackingMs : 0, until: Infinity };
  }

  /** For how long, of what could be seen at a moment, it had been down by itself. */
  #downMs(id: string, seenAt: number): number {
    const down = this.#down.get(id);
    return down && seenAt <= down.until ? seenAt - down.since - down.lackingMs : 0;
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
    // A first boot that is abandoned held nobody's write (H2).
    if (this.#keeping.establishedAs() === undefined || !this.#keeping.meantToServe()) return;
    if (this.#keeping.isGivenUp(member)) return;
    if (staying.length >= this.#keeping.votersWanted()) return;
    const isWell = this.#oracle.truth().healthy.has(id);
    if (!isWell && !this.#isIntact(member, id)) return;
    // Once copies differ, the odd one goes, and that may be the good one.
    if ([...voterNames].some(([, name]) => (this.#keeping.data(name)?.corruption ?? 0) !== 0)) return;
    const downMs = this.#downMs(id, seenAt);
    if (downMs >= this.#keeping.lostAfterMs() - SLACK_MS) return;
    const why = isWell
      ? "it serves"
      : this.#keeping.hasWorkload(member)
        ? `it has been down by itself for ${Math.round(downMs / 1000)} s`
        : "only its workload is missing";
    throw new Violation("H16", `${member} is removed without need: its data is intact, and ${why}`);
  }

  #isIntact(member: string, id: string): boolean {
    const dir = this.#keeping.data(member);
    return (
      dir !== undefined && !dir.unreadable && !dir.rolledBack && dir.corruption === 0 && dir.memberID === id
    );
  }
}
