/**
 * Work by key: each key at one place at a time, many keys at once, first come first served. Protects from two
 * workers on one object, from a busy key that starves the others, from a failing key that spins, and
 * from a queue without an end. Nothing sleeps in a worker: who has to wait gives its place back.
 */
import type { Clock, Timer } from "../seams/clock.ts";
import type { Random } from "../seams/random.ts";
import { backoffMs, type Backoff } from "../seams/backoff.ts";

/** What came of one run: done until the next event, or look again after a time; a throw is a failure. */
export type Outcome = { readonly againMs?: number } | void;

export interface QueueOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** `signal` aborts when the queue does not want to wait for it any longer. */
  readonly work: (key: string, signal: AbortSignal) => Promise<Outcome>;
  /** Told of each failure; may name the wait it asks for. */
  readonly onFailure: (key: string, error: unknown, failures: number) => number | undefined;
  /** There is room again after keys had to be refused: offer them again. */
  readonly onRoom?: () => void;
  readonly concurrency?: number;
  readonly mostKeys?: number;
  readonly backoff?: Backoff;
}

interface Entry {
  state: "idle" | "queued" | "running";
  /** Wanted again while it runs. */
  dirty: boolean;
  failures: number;
  timer: Timer | undefined;
  /** By the monotonic clock. */
  dueAt: number;
  /** When it was last queued, then when it last began. */
  queuedAt: number;
  startedAt: number;
}

const BACKOFF: Backoff = { firstMs: 200, longestMs: 60_000 };

export class WorkQueue {
  readonly #options: QueueOptions;
  readonly #backoff: Backoff;
  readonly #entries = new Map<string, Entry>();
  /** In order; a Set, so that a key is in it once. */
  readonly #ready = new Set<string>();
  readonly #ending = new AbortController();
  readonly #idle = new Set<() => void>();
  #running = 0;
  #refused = false;
  #started = false;
  #stopped = false;

  constructor(options: QueueOptions) {
    this.#options = options;
    this.#backoff = options.backoff ?? BACKOFF;
  }

  /** Keys that are queued, running or waiting for their time. */
  get size(): number {
    return this.#entries.size;
  }

  get running(): number {
    return this.#running;
  }

  /** Keys that could run now and have no worker. */
  get depth(): number {
    return this.#ready.size;
  }

  /** How long the longest run has been under way: a probe finds a stuck worker by it. */
  get longestRunMs(): number {
    const now = this.#options.clock.monotonic();
    let longest = 0;
    for (const { state, startedAt } of this.#entries.values())
      if (state === "running") longest = Math.max(longest, now - startedAt);
    return longest;
  }

  /** How long the first in line has waited for a worker; 0 before there are any. */
  get longestWaitMs(): number {
    const [first] = this.#ready;
    const entry = first === undefined || !this.#started ? undefined : this.#entries.get(first);
    return entry === undefined ? 0 : this.#options.clock.monotonic() - entry.queuedAt;
  }

  /** Until then keys are collected and nothing runs. */
  start(): void {
    this.#started = true;
    // What came before waited for the start, and not for a worker.
    for (const entry of this.#entries.values()) entry.queuedAt = this.#options.clock.monotonic();
    this.#pump();
  }

  /** Wanted now. False when there is no room, or no more work at all. */
  add(key: string): boolean {
    const entry = this.#entry(key);
    if (entry === undefined) return false;
    if (entry.state === "running") entry.dirty = true;
    else if (entry.state === "idle") {
      // News may well be the cure, so it shortens a back-off; but not to nothing, since a failing run may
      // itself be what causes the event.
      if (entry.failures > 0 && entry.timer !== undefined) this.#delay(key, entry, this.#backoff.firstMs);
      else this.#enqueue(key, entry);
    }
    return true;
  }

  /** Wanted after a time, unless something wants it sooner. */
  addAfter(key: string, ms: number): boolean {
    const entry = this.#entry(key);
    if (entry === undefined) return false;
    if (entry.state !== "queued") this.#delay(key, entry, ms);
    return true;
  }

  /** Starts nothing more; resolves when what runs has ended, which it is told to after `graceMs`. */
  async stop(graceMs = 10_000): Promise<void> {
    this.#stopped = true;
    this.#ready.clear();
    for (const [key, entry] of this.#entries) {
      entry.timer?.cancel();
      if (entry.state !== "running") this.#entries.delete(key);
    }
    if (this.#running === 0) return;
    const timer = this.#options.clock.timer(graceMs, () => this.#ending.abort(new Error("stopped")));
    await new Promise<void>((resolve) => this.#idle.add(resolve));
    timer.cancel();
  }

  #entry(key: string): Entry | undefined {
    if (this.#stopped) return undefined;
    const known = this.#entries.get(key);
    if (known !== undefined) return known;
    if (this.#entries.size >= (this.#options.mostKeys ?? 100_000)) {
      this.#refused = true;
      return undefined;
    }
    const entry: Entry = {
      state: "idle",
      dirty: false,
      failures: 0,
      timer: undefined,
      dueAt: Infinity,
      queuedAt: 0,
      startedAt: 0,
    };
    this.#entries.set(key, entry);
    return entry;
  }

  #enqueue(key: string, entry: Entry): void {
    this.#clear(entry);
    entry.state = "queued";
    entry.queuedAt = this.#options.clock.monotonic();
    this.#ready.add(key);
    this.#pump();
  }

  /** The sooner of two wishes counts. */
  #delay(key: string, entry: Entry, ms: number): void {
    const dueAt = this.#options.clock.monotonic() + Math.max(0, ms);
    if (entry.timer !== undefined && entry.dueAt <= dueAt) return;
    this.#clear(entry);
    entry.dueAt = dueAt;
    entry.timer = this.#options.clock.timer(Math.max(0, ms), () => {
      entry.timer = undefined;
      if (entry.state === "running") entry.dirty = true;
      else this.#enqueue(key, entry);
    });
  }

  #clear(entry: Entry): void {
    entry.timer?.cancel();
    entry.timer = undefined;
    entry.dueAt = Infinity;
  }

  #pump(): void {
    if (!this.#started || this.#stopped) return;
    for (const key of this.#ready) {
      if (this.#running >= (this.#options.concurrency ?? 16)) return;
      this.#ready.delete(key);
      const entry = this.#entries.get(key);
      if (entry !== undefined) void this.#run(key, entry);
    }
  }

  async #run(key: string, entry: Entry): Promise<void> {
    entry.state = "running";
    entry.dirty = false;
    entry.startedAt = this.#options.clock.monotonic();
    this.#running++;
    let waitMs: number | undefined;
    try {
      const outcome = await this.#options.work(key, this.#ending.signal);
      entry.failures = 0;
      waitMs = outcome?.againMs;
    } catch (error) {
      entry.failures++;
      const asked = this.#options.onFailure(key, error, entry.failures) ?? 0;
      waitMs = Math.max(asked, backoffMs(entry.failures, this.#backoff, this.#options.random));
    }
    this.#running--;
    this.#after(key, entry, waitMs);
  }

  #after(key: string, entry: Entry, waitMs: number | undefined): void {
    entry.state = "idle";
    if (this.#stopped) {
      this.#entries.delete(key);
      if (this.#running === 0) for (const resolve of this.#idle) resolve();
      return;
    }
    if (waitMs !== undefined) this.#delay(key, entry, waitMs);
    if (entry.dirty) this.add(key);
    else if (entry.timer === undefined) this.#entries.delete(key);
    this.#offerRoom();
    this.#pump();
  }

  #offerRoom(): void {
    if (!this.#refused || this.#entries.size > (this.#options.mostKeys ?? 100_000) / 2) return;
    this.#refused = false;
    this.#options.onRoom?.();
  }
}
