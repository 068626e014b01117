/**
 * A client's watch with its lag: events come in order, each some time after it happened, and bookmarks every
 * minute. Watches of different kinds lag by different times, so that their events overtake each other.
 */
import type { SeededRandom } from "../../engine/random.ts";
import type { Scheduled, Scheduler } from "../../engine/scheduler.ts";
import { EventStream } from "./stream.ts";
import { Watch, type RawEvent, type WatchedFrom } from "./watch.ts";

/** The least and the most, in milliseconds. */
export type Lag = readonly [number, number];

interface SubscriptionOptions {
  readonly who: string;
  readonly scheduler: Scheduler;
  readonly random: SeededRandom;
  readonly lagMs: Lag;
  readonly onClose: () => void;
}

const BOOKMARK_EVERY_MS = 60_000;

export class Subscription {
  readonly stream: EventStream;
  readonly #options: SubscriptionOptions;
  readonly #waiting: { readonly event: RawEvent; readonly due: number }[] = [];
  readonly #timers = new Set<Scheduled>();
  #watch: Watch | undefined;
  #last = 0;
  #delivering = false;
  #over = false;

  constructor(options: SubscriptionOptions) {
    this.#options = options;
    this.stream = new EventStream(() => this.#close());
  }

  get who(): string {
    return this.#options.who;
  }

  /** Of the kind that it is about. */
  get plural(): string {
    return this.#watch?.kind.plural ?? "";
  }

  begin(from: Omit<WatchedFrom, "onEvent">): void {
    const { scheduler } = this.#options;
    this.#watch = new Watch({ ...from, onEvent: (event) => this.#queue(event) });
    if (this.#watch.lasts !== undefined)
      this.#timers.add(scheduler.after(this.#watch.lasts * 1_000, () => this.stream.end("cleanly")));
    if (this.#watch.bookmarks) this.#bookmark();
  }

  pull(visible: number): void {
    this.#watch?.pull(visible);
  }

  #bookmark(): void {
    const timer = this.#options.scheduler.after(BOOKMARK_EVERY_MS, () => {
      this.#timers.delete(timer);
      this.#watch?.bookmark();
      if (!this.#over) this.#bookmark();
    });
    this.#timers.add(timer);
  }

  #queue(event: RawEvent): void {
    const { scheduler, random, lagMs } = this.#options;
    const due = Math.max(this.#last, scheduler.now + random.between(lagMs[0], lagMs[1]));
    this.#last = due;
    this.#waiting.push({ event, due });
    this.#deliver();
  }

  #deliver(): void {
    const [first] = this.#waiting;
    if (first === undefined || this.#delivering || this.#over) return;
    this.#delivering = true;
    const timer = this.#options.scheduler.at(first.due, () => {
      this.#timers.delete(timer);
      this.#delivering = false;
      const { now } = this.#options.scheduler;
      while (this.#waiting[0] !== undefined && this.#waiting[0].due <= now) {
        const { event } = this.#waiting.shift() as { event: RawEvent };
        this.stream.push(event);
        if (event.type === "ERROR") this.stream.end("cleanly");
      }
      this.#deliver();
    });
    this.#timers.add(timer);
  }

  #close(): void {
    this.#over = true;
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
    this.#options.onClose();
  }
}
