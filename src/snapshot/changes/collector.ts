/**
 * From the events of a watch to whole revisions. Every revision of etcd changes a key, and all keys are watched, so
 * revisions follow each other without a gap; one is whole when the next begins or when etcd says that everything up to
 * it was sent. What etcd's answers alone cannot promise (an answer may end inside a revision) is thereby proven.
 */
import type { WatchEvent } from "../../etcd/watch.ts";
import { changeBytes, toChange, type Change, type RevisionRecord } from "./record.ts";

/** Events are missing; the watch has to begin again after the last whole revision. */
export class EventsMissing extends Error {
  override name = "EventsMissing";
}

export class Collector {
  #complete: number;
  #whole: RevisionRecord[] = [];
  #open: { revision: number; time: number; changes: Change[]; bytes: number } | undefined;
  /** Times never go back, also where the clock does. */
  #time: number;

  constructor(complete: number, notBefore = 0) {
    this.#complete = complete;
    this.#time = notBefore;
  }

  /** The last whole revision. */
  get complete(): number {
    return this.#complete;
  }
  /** Bytes that wait for the rest of their revision. */
  get openBytes(): number {
    return this.#open?.bytes ?? 0;
  }

  /** The watch was established again, and sends the last revision once more. */
  restarted(): void {
    this.#open = undefined;
  }

  /** What became whole since it was last asked for, also by events before a missing one. */
  taken(): RevisionRecord[] {
    const whole = this.#whole;
    this.#whole = [];
    return whole;
  }

  events(events: readonly WatchEvent[], now: number): void {
    this.#time = Math.max(this.#time, now);
    for (const event of events) {
      const revision = Number(event.kv.modRevision);
      if (revision <= this.#complete) continue;
      if (this.#open !== undefined && revision > this.#open.revision) this.#close();
      if (revision !== (this.#open?.revision ?? this.#complete + 1))
        throw new EventsMissing(`etcd sent revision ${revision} after ${this.#complete}`);
      const change = toChange(event);
      this.#open ??= { revision, time: this.#time, changes: [], bytes: 0 };
      this.#open.time = this.#time;
      this.#open.changes.push(change);
      this.#open.bytes += changeBytes(change);
    }
  }

  /** etcd says that everything up to `revision` was sent. */
  progress(revision: number): void {
    const last = this.#open?.revision ?? this.#complete;
    if (revision > last)
      throw new EventsMissing(`etcd has revision ${revision} and sent nothing after ${last}`);
    if (this.#open !== undefined && revision === last) this.#close();
  }

  #close(): void {
    if (this.#open === undefined) return;
    const { revision, time, changes } = this.#open;
    this.#open = undefined;
    this.#complete = revision;
    this.#whole.push({ kind: "revision", revision, time, changes });
  }
}
