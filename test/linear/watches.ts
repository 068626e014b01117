/**
 * etcd's promises for watches: events in the order of revisions, each once, none left out, all of one
 * revision together, also over interruptions; never ahead of what was committed; and a progress
 * notification says truly that everything up to its revision was delivered.
 */
import {
  describeOperation,
  describeSeen,
  type Operation,
  type Violation,
  type WatchEvent,
  type WatchRecord,
} from "./history.ts";
import type { Horizon } from "./horizon.ts";
import type { Commit, Log } from "./log.ts";
import { same } from "./witness.ts";

/** Up to which revision the watch has delivered everything. */
export function deliveredUpTo({ start, items }: WatchRecord): number {
  let upTo = start - 1;
  for (const item of items) {
    if (item.type === "events") for (const { revision } of item.events) upTo = Math.max(upTo, revision);
    if (item.type === "progress") upTo = Math.max(upTo, item.revision);
  }
  return upTo;
}

export function watchViolations(watch: WatchRecord, log: Log, horizon: Horizon): Violation[] {
  return new WatchCheck(watch, log, horizon).run();
}

class WatchCheck {
  readonly #watch: WatchRecord;
  readonly #log: Log;
  readonly #horizon: Horizon;
  readonly #expected: readonly Commit[];
  readonly #found: Violation[] = [];
  #next = 0;
  /** Of the last event, or of the last progress notification. */
  #upTo: number;

  constructor(watch: WatchRecord, log: Log, horizon: Horizon) {
    this.#watch = watch;
    this.#log = log;
    this.#horizon = horizon;
    this.#expected = log.commits.filter(({ revision }) => revision >= watch.start);
    this.#upTo = watch.start - 1;
  }

  run(): Violation[] {
    for (const item of this.#watch.items) {
      if (item.type === "interrupted") continue;
      if (item.type === "created") this.#notAhead(item.at, item.revision, "its creation");
      if (item.type === "events") this.#events(item.at, item.events);
      if (item.type === "progress") {
        this.#notAhead(item.at, item.revision, "a progress notification");
        if (item.revision < this.#upTo) continue; // Another member took over and is behind: it says less, not wrong.
        this.#missed(item.at, item.revision);
        this.#upTo = item.revision;
      }
    }
    return this.#found;
  }

  #events(at: number, events: readonly WatchEvent[]): void {
    for (let i = 0; i < events.length;) {
      const revision = events[i]?.revision ?? 0;
      const together = events.slice(i).filter((event) => event.revision === revision);
      i += Math.max(1, together.length);
      if (revision <= this.#upTo) {
        const [first] = together;
        this.#say(
          `showed ${first?.key ?? ""} of revision ${revision} after everything up to ${this.#upTo}`,
          at,
          first?.key,
        );
        continue;
      }
      this.#missed(at, revision - 1);
      this.#revision(at, revision, together);
      this.#upTo = revision;
    }
    this.#notAhead(at, this.#upTo, "an event");
  }

  /** All that one revision did, and nothing else. */
  #revision(at: number, revision: number, events: readonly WatchEvent[]): void {
    const commit = this.#expected[this.#next];
    if (commit?.revision === revision) this.#next++;
    const keys = commit?.revision === revision ? [...commit.changes.keys()] : [];
    const shown = events.map(({ key }) => key);
    if (new Set(shown).size !== shown.length)
      this.#say(`showed a key of revision ${revision} twice`, at, shown[0]);
    for (const key of keys)
      if (!shown.includes(key))
        this.#say(`showed revision ${revision} without ${key}`, at, key, commit?.operation);
    for (const { key, now, before } of events) {
      const expected = this.#log.stateAt(key, revision);
      if (!keys.includes(key) || !same(now, expected))
        this.#say(
          `showed ${describeSeen(now)} in ${key} at revision ${revision}, where there was ${describeSeen(expected)}`,
          at,
          key,
          commit?.revision === revision ? commit.operation : undefined,
        );
      const was = this.#log.stateAt(key, revision - 1);
      if (before !== undefined && !same(before.seen, was))
        this.#say(
          `showed ${describeSeen(before.seen)} before revision ${revision} of ${key}, where there was ${describeSeen(was)}`,
          at,
          key,
        );
    }
  }

  /** Commits up to the revision that are due now and were not shown. */
  #missed(at: number, upTo: number): void {
    for (; this.#next < this.#expected.length; this.#next++) {
      const commit = this.#expected[this.#next];
      if (commit === undefined || commit.revision > upTo) return;
      const [key] = commit.changes.keys();
      const what = commit.operation === undefined ? "" : `, ${describeOperation(commit.operation)}`;
      this.#say(`left out revision ${commit.revision}${what}`, at, key, commit.operation);
    }
  }

  #notAhead(at: number, revision: number, what: string): void {
    const future = this.#horizon.ahead(at, revision);
    if (future !== undefined)
      this.#say(
        `told by ${what} of revision ${revision} before ${describeOperation(future)} was called`,
        at,
        undefined,
        future,
      );
  }

  #say(what: string, at: number, key?: string, operation?: Operation): void {
    this.#found.push({
      rule: "watch",
      message: `the watch of ${this.#watch.client} from revision ${this.#watch.start} on ${what}`,
      operations: operation === undefined ? [] : [operation.id],
      at,
      ...(key !== undefined && { key }),
    });
  }
}
