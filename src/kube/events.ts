/**
 * Kubernetes events: what `kubectl describe` shows of what we did. Protects the API server from a chatty loop: the
 * same event again is a count on the first one (a series), told once a minute, and each object has a
 * budget. Telling never throws, never waits, and never stops the work it tells of.
 */
import type { Event } from "kubernetes-types/events/v1.d.ts";
import type { Clock } from "../seams/clock.ts";
import { hex, type Random } from "../seams/random.ts";
import type { KubeClient } from "./client.ts";
import { isReason } from "./errors.ts";
import { silent, textOf, type Log } from "./log.ts";
import { WorkQueue, type Outcome } from "./queue.ts";
import { events, type KubeObject } from "./resources.ts";

export interface EventWish {
  /** What it is about; needs kind, apiVersion, name and uid. */
  readonly regarding: KubeObject;
  readonly type: "Normal" | "Warning";
  /** Why, in one CamelCase word. */
  readonly reason: string;
  /** What was done, in one CamelCase word. */
  readonly action: string;
  /** For people. */
  readonly note: string;
}

export interface EventOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  /** `example.com/my-controller`. */
  readonly controller: string;
  /** Which process of it. */
  readonly instance: string;
  readonly log?: Log;
}

/** The same event within this time belongs to the same series. */
const SERIES_MS = 6 * 60_000;
/** How often the count of a series is written. */
const COUNT_EVERY_MS = 60_000;
/** New events of one object: this many at once, and one more for each time that passes. */
const BURST = 25;
const ONE_MORE_MS = 60_000;
const MOST_SERIES = 2_000;
const MOST_TRIES = 5;
const LONGEST_NOTE = 1_000;

/** Only what an event says of an object: whole ones, each as it was then, would be most of an operator's memory. */
type Regarding = NonNullable<Event["regarding"]>;

interface Series {
  readonly wish: Omit<EventWish, "regarding">;
  readonly regarding: Regarding;
  readonly firstAt: number;
  lastAt: number;
  count: number;
  /** The count the server knows of. */
  reported: number;
  reportedAt: number;
  written: Written | undefined;
}

/** Where the event is. */
interface Written {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
}

export class EventRecorder {
  readonly #options: EventOptions;
  readonly #log: Log;
  readonly #series = new Map<string, Series>();
  readonly #budgets = new Map<string, { tokens: number; at: number }>();
  readonly #queue: WorkQueue;
  #dropped = 0;

  constructor(options: EventOptions) {
    this.#options = options;
    this.#log = options.log ?? silent;
    this.#queue = new WorkQueue({
      clock: options.clock,
      random: options.random,
      concurrency: 2,
      mostKeys: MOST_SERIES,
      work: (key) => this.#tell(key),
      onFailure: (key, error, failures) => this.#failed(key, error, failures),
    });
    this.#queue.start();
  }

  /** Events that were not told, for want of budget or because the server would not have them. */
  get dropped(): number {
    return this.#dropped;
  }

  record({ regarding: object, ...wish }: EventWish): void {
    const { clock } = this.#options;
    const regarding = referenceTo(object);
    const { uid = "" } = regarding;
    const key = [uid, wish.type, wish.reason, wish.action, wish.note].join("\0");
    const now = clock.monotonic();
    const known = this.#series.get(key);
    if (known !== undefined && now - known.lastAt < SERIES_MS) {
      known.count++;
      known.lastAt = now;
      this.#queue.addAfter(key, Math.max(0, known.reportedAt + COUNT_EVERY_MS - now));
      return;
    }
    if (!this.#hasBudget(uid, now)) {
      this.#dropped++;
      return;
    }
    const begun = { firstAt: clock.now(), lastAt: now, count: 1, reported: 0, reportedAt: now };
    this.#series.set(key, { wish, regarding, ...begun, written: undefined });
    if (this.#queue.add(key)) return;
    this.#series.delete(key);
    this.#dropped++;
  }

  /** Tells what is left to tell, as far as `graceMs` goes. */
  async stop(graceMs = 2_000): Promise<void> {
    for (const [key, { reported, count }] of this.#series) if (reported < count) this.#queue.add(key);
    const { clock } = this.#options;
    const until = clock.monotonic() + graceMs;
    while (this.#queue.depth + this.#queue.running > 0 && clock.monotonic() < until)
      await new Promise<void>((resolve) => void clock.timer(20, resolve));
    await this.#queue.stop(0);
  }

  #hasBudget(uid: string, now: number): boolean {
    const known = this.#budgets.get(uid) ?? { tokens: BURST, at: now };
    const tokens = Math.min(BURST, known.tokens + (now - known.at) / ONE_MORE_MS);
    this.#budgets.set(uid, { tokens: Math.max(0, tokens - 1), at: now });
    if (this.#budgets.size > MOST_SERIES) {
      // A full budget is as good as none on record.
      for (const [other, { tokens: left, at }] of this.#budgets)
        if (left + (now - at) / ONE_MORE_MS >= BURST) this.#budgets.delete(other);
      const [oldest = ""] = this.#budgets.keys();
      if (this.#budgets.size > MOST_SERIES) this.#budgets.delete(oldest);
    }
    return tokens >= 1;
  }

  async #tell(key: string): Promise<Outcome> {
    const series = this.#series.get(key);
    if (series === undefined) return;
    const { client, clock } = this.#options;
    const { count, written, lastAt } = series;
    if (count > series.reported) {
      if (written === undefined) series.written = placeOf(await client.create(events, this.#event(series)));
      else await this.#recount(series, written);
      series.reported = count;
      series.reportedAt = clock.monotonic();
    }
    if (series.count > series.reported) return { againMs: COUNT_EVERY_MS };
    const left = lastAt + SERIES_MS - clock.monotonic();
    if (left > 0) return { againMs: left };
    this.#series.delete(key);
  }

  async #recount(series: Series, { name, namespace, uid }: Written): Promise<void> {
    try {
      const patch = { series: this.#counted(series) };
      await this.#options.client.patch(events, { name, namespace }, patch, { uid });
    } catch (error) {
      // Events live for an hour; then the series begins anew.
      if (!isReason(error, "NotFound")) throw error;
      series.written = placeOf(await this.#options.client.create(events, this.#event(series)));
    }
  }

  #event(series: Series): Event {
    const { controller, instance, random } = this.#options;
    const { regarding } = series;
    const { type, reason, action, note } = series.wish;
    const { name = "", namespace } = regarding;
    return {
      metadata: { name: `${name.slice(0, 230)}.${hex(random, 8)}`, namespace: namespace ?? "default" },
      eventTime: microTime(series.firstAt),
      reportingController: controller,
      reportingInstance: instance.slice(0, 128),
      type,
      reason,
      action,
      note: note.length > LONGEST_NOTE ? `${note.slice(0, LONGEST_NOTE - 1)}…` : note,
      regarding,
      ...(series.count > 1 && { series: this.#counted(series) }),
    };
  }

  #counted(series: Series): { count: number; lastObservedTime: string } {
    const { clock } = this.#options;
    const lastAt = clock.now() - (clock.monotonic() - series.lastAt);
    return { count: series.count, lastObservedTime: microTime(lastAt) };
  }

  #failed(key: string, error: unknown, failures: number): number | undefined {
    const hopeless = isReason(error, "Forbidden", "Invalid", "BadRequest", "NotFound");
    if (hopeless || failures >= MOST_TRIES) {
      this.#series.delete(key);
      this.#dropped++;
      this.#log("warn", `could not record an event: ${textOf(error)}`, { error });
    }
    return isReason(error, "TooManyRequests") ? error.retryAfterMs : undefined;
  }
}

function referenceTo({ apiVersion, kind, metadata }: KubeObject): Regarding {
  const { name = "", namespace, uid = "" } = metadata ?? {};
  return {
    name,
    uid,
    ...(namespace !== undefined && { namespace }),
    ...(apiVersion && { apiVersion }),
    ...(kind && { kind }),
  };
}

function placeOf({ metadata }: Event): Written {
  const { name = "", namespace = "", uid = "" } = metadata ?? {};
  return { name, namespace, uid };
}

function microTime(ms: number): string {
  return new Date(ms).toISOString().replace("Z", "000Z");
}
