/**
 * Owns virtual time: a queue of events by time, and by a seeded choice among those of the same time, so
 * that every order that could happen does happen under some seed. Nothing here waits for the machine.
 */
import type { SeededRandom } from "./random.ts";
import { macrotask } from "./turn.ts";

export interface Scheduled {
  cancel(): void;
}

interface Event extends Scheduled {
  readonly at: number;
  readonly rank: number;
  readonly order: number;
  run: (() => void) | undefined;
}

/** A run that never ends is a bug in what is simulated; it is stopped here, with a reason. */
export class TooManyEvents extends Error {
  override name = "TooManyEvents";
}

export class Scheduler {
  #now = 0;
  #order = 0;
  #ran = 0;
  readonly #heap: Event[] = [];
  readonly #random: SeededRandom;
  readonly #limit: number;

  constructor(random: SeededRandom, options: { limit?: number } = {}) {
    this.#random = random;
    this.#limit = options.limit ?? 2_000_000;
  }

  /** Milliseconds since the run began. */
  get now(): number {
    return this.#now;
  }

  /** Events run so far. */
  get ran(): number {
    return this.#ran;
  }

  after(ms: number, run: () => void): Scheduled {
    return this.at(this.#now + Math.max(0, ms), run);
  }

  at(time: number, run: () => void): Scheduled {
    const event: Event = {
      at: Math.max(time, this.#now),
      rank: this.#random.next(),
      order: this.#order++,
      run,
      cancel() {
        this.run = undefined;
      },
    };
    push(this.#heap, event);
    return event;
  }

  /** When the next event is due; undefined when there is none. */
  get nextAt(): number | undefined {
    this.#dropCancelled();
    return this.#heap[0]?.at;
  }

  /** Runs the next event if it is due by `until`; false when there is none. */
  step(until = Infinity): boolean {
    this.#dropCancelled();
    const event = this.#heap[0];
    if (event === undefined || event.at > until) return false;
    pop(this.#heap);
    if (++this.#ran > this.#limit) {
      throw new TooManyEvents(`more than ${this.#limit} events by ${this.#now} ms of virtual time`);
    }
    this.#now = event.at;
    const run = event.run;
    event.run = undefined;
    run?.();
    return true;
  }

  /** Runs all events due by `time`, then stands at `time`. For code that never awaits. */
  runUntil(time: number): void {
    while (this.step(time));
    this.#now = Math.max(this.#now, time);
  }

  /**
   * The same for code that awaits: what an event set in motion comes to rest before time moves on.
   * `done` is asked after each event and ends the run early.
   */
  async runAsyncUntil(time: number, done: () => boolean = () => false): Promise<void> {
    await macrotask();
    while (!done() && this.step(time)) await macrotask();
    if (!done()) this.#now = Math.max(this.#now, time);
  }

  #dropCancelled(): void {
    while (this.#heap.length > 0 && this.#heap[0]?.run === undefined) pop(this.#heap);
  }
}

function before(a: Event, b: Event): boolean {
  if (a.at !== b.at) return a.at < b.at;
  return a.rank !== b.rank ? a.rank < b.rank : a.order < b.order;
}

function push(heap: Event[], event: Event): void {
  let i = heap.length;
  heap.push(event);
  while (i > 0) {
    const parent = (i - 1) >> 1;
    const above = heap[parent] as Event;
    if (!before(event, above)) break;
    heap[i] = above;
    i = parent;
  }
  heap[i] = event;
}

function pop(heap: Event[]): void {
  const last = heap.pop();
  if (last === undefined || heap.length === 0) return;
  let i = 0;
  for (;;) {
    let child = 2 * i + 1;
    if (child >= heap.length) break;
    const right = heap[child + 1];
    if (right !== undefined && before(right, heap[child] as Event)) child++;
    const below = heap[child] as Event;
    if (!before(below, last)) break;
    heap[i] = below;
    i = child;
  }
  heap[i] = last;
}
