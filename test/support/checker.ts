/**
 * A client that does not believe: it writes, reads and watches while a test does what it does to the
 * cluster, keeps a ledger of what was acknowledged, and says afterwards what was lost, made up, stale,
 * missed or seen twice, and how long nothing could be written. For tests, benches and the testbed.
 */
import { StoreError, type CheckedStore, type StoredValue } from "./checker-store.ts";

export interface CheckerOptions {
  /** Everything it writes is under this prefix. */
  readonly prefix?: string;
  /**
   * Workers of each kind. A worker begins an operation every `everyMs` whether or not the former ones were
   * answered, so that a write which hangs until its time-out does not hide that others get through.
   */
  readonly writers?: number;
  readonly readers?: number;
  readonly everyMs?: number;
  /** How long the watch may lag behind at the end. */
  readonly catchUpMs?: number;
}

export interface CheckReport {
  readonly writes: { readonly acknowledged: number; readonly refused: number; readonly unknown: number };
  readonly reads: { readonly answered: number; readonly failed: number };
  readonly events: number;
  readonly watchInterruptions: number;
  /** Longest time in which no write was acknowledged, and when it began, in ms since the start. */
  readonly longestWriteGapMs: number;
  readonly longestWriteGapAtMs: number;
  readonly longestReadGapMs: number;
  readonly durationMs: number;
  /** What must never happen, in words; the first hundred. Empty: all is well. */
  readonly violations: readonly string[];
  /** Numbers of the acknowledged writes that are gone. */
  readonly lost: readonly number[];
  readonly watchMissing: readonly number[];
  readonly watchDuplicates: readonly number[];
}

interface Acknowledged {
  readonly revision: bigint;
}

/** Operations of one worker without an answer yet; then it waits. */
const MOST_IN_FLIGHT = 100;
/** A hundred operations a second: enough to find a gap of some tens of milliseconds, and cheap beside the servers. */
const EVERY_MS = 50;
const CATCH_UP_MS = 15_000;
const FINAL_READ_MS = 30_000;

export class Checker {
  readonly #store: CheckedStore;
  readonly #prefix: string;
  readonly #everyMs: number;
  readonly #catchUpMs: number;
  readonly #started = performance.now();
  readonly #stop = new AbortController();
  readonly #watchStop = new AbortController();
  readonly #workers: Promise<void>[] = [];
  #watcher: Promise<void> = Promise.resolve();
  readonly #acknowledged = new Map<number, Acknowledged>();
  readonly #refused = new Set<number>();
  readonly #unknown = new Set<number>();
  /** Per writer, the highest revision acknowledged. */
  readonly #latest: bigint[] = [];
  readonly #seen = new Map<number, bigint[]>();
  readonly #violations: string[] = [];
  readonly #writeGap = new GapMeter(this.#started);
  readonly #readGap = new GapMeter(this.#started);
  #answered = 0;
  #failedReads = 0;
  #interruptions = 0;
  #next = 0;

  private constructor(store: CheckedStore, options: CheckerOptions) {
    this.#store = store;
    this.#prefix = options.prefix ?? "check/";
    this.#everyMs = options.everyMs ?? EVERY_MS;
    this.#catchUpMs = options.catchUpMs ?? CATCH_UP_MS;
  }

  /** Begins; resolves when the watch is established and every worker has been answered once. */
  static async start(store: CheckedStore, options: CheckerOptions = {}): Promise<Checker> {
    const checker = new Checker(store, options);
    const begun = Promise.withResolvers<void>();
    checker.#watcher = checker.#watch(begun.resolve).catch((error: unknown) => {
      begun.reject(error);
      checker.#violate(`the watch failed: ${String(error)}`);
    });
    await begun.promise;
    const writers = options.writers ?? 3;
    const first: Promise<void>[] = [];
    for (let worker = 0; worker < writers + (options.readers ?? 2); worker++) {
      const answered = Promise.withResolvers<void>();
      first.push(answered.promise);
      const step =
        worker < writers ? () => checker.#write(worker) : () => checker.#read(worker, worker % writers);
      const running = checker.#loop(step, answered.resolve);
      running.catch(answered.reject);
      checker.#workers.push(running);
    }
    await Promise.all(first);
    return checker;
  }

  /** Writes acknowledged so far, for tests that wait for the cluster to take writes again. */
  get acknowledged(): number {
    return this.#acknowledged.size;
  }

  /** Ends the work, lets the watch catch up, reads everything back and judges. */
  async stop(): Promise<CheckReport> {
    this.#stop.abort();
    await Promise.all(this.#workers);
    const durationMs = performance.now() - this.#started;
    this.#writeGap.hit();
    this.#readGap.hit();
    const stored = await this.#readBack();
    await this.#catchUp();
    this.#watchStop.abort();
    await this.#watcher;
    const lost = this.#judgeStore(stored);
    const { missing, duplicates } = this.#judgeWatch();
    return {
      writes: {
        acknowledged: this.#acknowledged.size,
        refused: this.#refused.size,
        unknown: this.#unknown.size,
      },
      reads: { answered: this.#answered, failed: this.#failedReads },
      events: [...this.#seen.values()].reduce((sum, revisions) => sum + revisions.length, 0),
      watchInterruptions: this.#interruptions,
      longestWriteGapMs: this.#writeGap.longestMs,
      longestWriteGapAtMs: this.#writeGap.atMs,
      longestReadGapMs: this.#readGap.longestMs,
      durationMs,
      violations: this.#violations,
      lost,
      watchMissing: missing,
      watchDuplicates: duplicates,
    };
  }

  async #loop(step: () => Promise<boolean>, answered: () => void): Promise<void> {
    const inFlight = new Set<Promise<void>>();
    let failure: unknown;
    while (!this.#stop.signal.aborted && failure === undefined) {
      const one: Promise<void> = step()
        .then((good) => (good ? answered() : undefined))
        .catch((error: unknown) => {
          failure = error;
        })
        .finally(() => inFlight.delete(one));
      inFlight.add(one);
      if (inFlight.size >= MOST_IN_FLIGHT) await Promise.race(inFlight);
      await new Promise((resolve) => setTimeout(resolve, this.#everyMs));
    }
    await Promise.all(inFlight);
    if (failure !== undefined) throw failure instanceof Error ? failure : new Error(String(failure));
    answered();
  }

  async #write(worker: number): Promise<boolean> {
    const number = ++this.#next;
    try {
      const revision = await this.#store.write(worker, [
        [this.#key(number), String(number)],
        [`${this.#prefix}latest/${worker}`, String(number)],
      ]);
      this.#acknowledged.set(number, { revision });
      if (revision > (this.#latest[worker] ?? 0n)) this.#latest[worker] = revision;
      this.#writeGap.hit();
      return true;
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      (error.failure === "refused" ? this.#refused : this.#unknown).add(number);
      return false;
    }
  }

  /** A linearizable read must see what was acknowledged before it began. */
  async #read(worker: number, writer: number): Promise<boolean> {
    const expected = this.#latest[writer] ?? 0n;
    let found: StoredValue | undefined;
    try {
      found = await this.#store.read(worker, `${this.#prefix}latest/${writer}`);
    } catch {
      this.#failedReads++;
      return false;
    }
    this.#answered++;
    this.#readGap.hit();
    const seen = found?.revision ?? 0n;
    if (seen < expected) this.#violate(`a read saw revision ${seen} after ${expected} was acknowledged`);
    return true;
  }

  async #watch(begun: () => void): Promise<void> {
    let last = 0n;
    for await (const item of this.#store.watch(this.#prefix, this.#watchStop.signal)) {
      if (item === "begun") begun();
      else if (item === "interrupted") this.#interruptions++;
      else
        for (const { key, value, revision } of item) {
          if (revision < last) this.#violate(`the watch went back from revision ${last} to ${revision}`);
          last = revision;
          if (!key.startsWith(`${this.#prefix}n/`)) continue;
          this.#seen.set(Number(value), [...(this.#seen.get(Number(value)) ?? []), revision]);
        }
    }
  }

  async #readBack(): Promise<ReadonlyMap<string, StoredValue>> {
    const end = performance.now() + FINAL_READ_MS;
    for (;;) {
      try {
        return await this.#store.list(`${this.#prefix}n/`);
      } catch (error) {
        if (performance.now() > end) throw error;
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    }
  }

  /** Waits until the watch has delivered all that was acknowledged; what then misses is a finding. */
  async #catchUp(): Promise<void> {
    const end = performance.now() + this.#catchUpMs;
    const behind = () => [...this.#acknowledged.keys()].some((number) => !this.#seen.has(number));
    while (behind() && performance.now() < end) await new Promise((resolve) => setTimeout(resolve, 50));
  }

  #judgeStore(stored: ReadonlyMap<string, StoredValue>): number[] {
    const lost: number[] = [];
    for (const [number, { revision }] of this.#acknowledged) {
      const found = stored.get(this.#key(number));
      if (found === undefined) {
        lost.push(number);
        this.#violate(`write ${number} was acknowledged at revision ${revision} and is gone`);
      } else if (found.value !== String(number) || found.revision !== revision)
        this.#violate(
          `write ${number} (revision ${revision}) reads ${found.value} of revision ${found.revision}`,
        );
    }
    for (const number of this.#refused)
      if (stored.has(this.#key(number))) this.#violate(`write ${number} was refused and is there`);
    for (const key of stored.keys()) {
      const number = Number(key.slice(this.#prefix.length + 2));
      const ours = this.#acknowledged.has(number) || this.#unknown.has(number) || this.#refused.has(number);
      if (!ours) this.#violate(`${key} was never written`);
    }
    return lost;
  }

  #judgeWatch(): { missing: number[]; duplicates: number[] } {
    const missing = [...this.#acknowledged.keys()].filter((number) => !this.#seen.has(number));
    const duplicates = [...this.#seen]
      .filter(([, revisions]) => revisions.length > 1)
      .map(([number]) => number);
    for (const number of missing) this.#violate(`the watch never showed write ${number}`);
    for (const number of duplicates) this.#violate(`the watch showed write ${number} more than once`);
    return { missing, duplicates };
  }

  #key(number: number): string {
    return `${this.#prefix}n/${String(number).padStart(9, "0")}`;
  }

  #violate(what: string): void {
    if (this.#violations.length < 100) this.#violations.push(what);
  }
}

/** The longest time between two hits, or between the last and the end. */
class GapMeter {
  readonly #started: number;
  #last: number | undefined;
  longestMs = 0;
  /** When the longest began. */
  atMs = 0;

  constructor(started: number) {
    this.#started = started;
  }

  hit(): void {
    const now = performance.now();
    const last = this.#last ?? now;
    if (now - last > this.longestMs) {
      this.longestMs = now - last;
      this.atMs = last - this.#started;
    }
    this.#last = now;
  }
}
