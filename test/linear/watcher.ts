/** A watch of a recorded run: everything it was shown and when, interruptions included. */
import { text } from "../../src/etcd/convert.ts";
import type { WatchBatch, WatchEvent as EtcdEvent } from "../../src/etcd/watch.ts";
import type { WatchEvent, WatchItem, WatchRecord } from "./history.ts";
import { versionOf, type Session } from "./session.ts";
import { deliveredUpTo } from "./watches.ts";

export class Watcher {
  readonly #stop = new AbortController();
  readonly #items: WatchItem[] = [];
  readonly #done: Promise<void>;
  readonly record: WatchRecord;
  /** What ended it before its time. */
  failure: unknown;

  constructor(session: Session, prefix: string, start: number) {
    this.record = { client: session.name, start, items: this.#items };
    this.#done = this.#run(session, prefix, start).catch((error: unknown) => {
      this.failure = error;
    });
  }

  async #run(session: Session, prefix: string, start: number): Promise<void> {
    const watch = session.client.watches.watch(prefix, {
      prefix: true,
      startRevision: BigInt(start),
      previous: true,
      progress: true,
      signal: this.#stop.signal,
      onInterrupted: (error) =>
        this.#items.push({ at: performance.now(), type: "interrupted", why: error.message }),
    });
    for await (const batch of watch) this.#items.push(itemOf(batch, prefix));
  }

  get upTo(): number {
    return deliveredUpTo(this.record);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#done;
  }
}

function itemOf(batch: WatchBatch, prefix: string): WatchItem {
  const at = performance.now();
  if (batch.type === "events")
    return { at, type: "events", events: batch.events.map((event) => eventOf(event, prefix)) };
  const revision = Number(batch.revision);
  if (batch.type === "progress") return { at, type: "progress", revision };
  return { at, type: "created", revision, member: batch.endpoint.name ?? batch.endpoint.url };
}

function eventOf({ type, kv, previous }: EtcdEvent, prefix: string): WatchEvent {
  return {
    key: text(kv.key).slice(prefix.length),
    revision: Number(kv.modRevision),
    now: type === "delete" ? undefined : versionOf(kv),
    before: { seen: previous && versionOf(previous) },
  };
}
