/**
 * Follows all changes of a cluster into a store: watched from the last recorded revision on, gathered into segments, and
 * written by time and size. Only whole revisions are written, each segment in one conditional write, so whatever ends
 * this process leaves a log that ends with a whole segment, and the next one continues there.
 */
import type { EtcdClient } from "../../etcd/client.ts";
import { EtcdError, isEtcdError } from "../../etcd/errors.ts";
import { formatId } from "../../etcd/id.ts";
import type { WatchBatch } from "../../etcd/watch.ts";
import { deadline, sleep, type Clock } from "../../seams/clock.ts";
import type { Random } from "../../seams/random.ts";
import { NoMemberError } from "../choose.ts";
import type { Encoding } from "../codec/codec.ts";
import { isStoreError, type Store } from "../store/store.ts";
import { authStateOf, isSameAuth } from "./auth.ts";
import { Collector, EventsMissing } from "./collector.ts";
import { compareHistory, setBack } from "./history.ts";
import { LeaseTtls } from "./lease-ttls.ts";
import { writeEnd, writeLive, type EndReason } from "./log.ts";
import type { RevisionRecord } from "./record.ts";
import { SegmentDraft, writeSegment } from "./segment.ts";
import { findStart, type BaseReason, type Start } from "./start.ts";

export interface FollowOptions extends Encoding {
  readonly client: EtcdClient;
  /** The folder of the snapshots. */
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  /** Ends it: what is whole is written first. */
  readonly signal: AbortSignal;
  /** A segment is written this long after its first change, or when it has so many bytes. */
  readonly intervalMs: number;
  readonly segmentBytes?: number;
  /** Puts a new snapshot of the cluster into the store, in the way that snapshots are taken there; absent: others do. */
  readonly takeBase?: ((reason: BaseReason) => Promise<void>) | undefined;
  readonly progress?: (event: FollowEvent) => void;
}

export type FollowEvent =
  | { readonly kind: "start"; readonly start: Start }
  | { readonly kind: "segment"; readonly name: string; readonly first: number; readonly last: number }
  /** Everything up to the revision is in the store. */
  | { readonly kind: "complete"; readonly revision: number; readonly time: string }
  | { readonly kind: "base"; readonly reason: BaseReason; readonly waitMs: number }
  /** Something that is tried again. */
  | { readonly kind: "retry"; readonly error: Error };

export const SEGMENT_BYTES = 8 * 1024 * 1024;
/** How often the store is looked at for a snapshot that others take: at first, and after a while. */
const AWAIT_BASE_MS = 5_000;
const AWAIT_BASE_MOST_MS = 60_000;
/** No more snapshots than these are taken in the time: where compaction outruns the follower, more would not help. */
const MOST_BASES = 3;
const BASES_WITHIN_MS = 900_000;
const PROGRESS_MOST_MS = 10_000;
const PROGRESS_LEAST_MS = 100;
const LAST_WRITE_MS = 10_000;
const PAUSE_MIN_MS = 200;
const PAUSE_MAX_MS = 15_000;
/** Watches that begin again at the same revision and still miss events. */
const MOST_MISSES = 3;

/** The stretch ends here, and nothing after `floor` can be had by a watch from before it. */
class BaseNeeded extends Error {
  readonly reason: EndReason;
  readonly floor: number;
  constructor(reason: EndReason, floor: number) {
    super(`a new base is needed (${reason})`);
    this.reason = reason;
    this.floor = floor;
  }
}

/** Another follower wrote, or another cluster answers: look again where to continue. */
class LookAgain extends Error {}

/** Until the signal; throws what no retry can help. */
export async function follow(options: FollowOptions): Promise<void> {
  const { clock, signal, progress } = options;
  let floor = 0;
  let bases: number[] = [];
  let pause = PAUSE_MIN_MS;
  let awaitMs = AWAIT_BASE_MS;
  while (!signal.aborted) {
    try {
      const found = await findStart({ ...options, floor, keyMayChange: options.takeBase === undefined });
      if ("needs" in found && options.takeBase === undefined) {
        progress?.({ kind: "base", reason: found.needs, waitMs: awaitMs });
        await sleep(clock, awaitMs, signal);
        awaitMs = Math.min(2 * awaitMs, AWAIT_BASE_MOST_MS);
        continue;
      }
      awaitMs = AWAIT_BASE_MS;
      if ("needs" in found) {
        const oldest = bases.at(-MOST_BASES) ?? Number.NEGATIVE_INFINITY;
        const waitMs = Math.max(0, oldest + BASES_WITHIN_MS - clock.monotonic());
        progress?.({ kind: "base", reason: found.needs, waitMs });
        await sleep(clock, waitMs, signal);
        await options.takeBase?.(found.needs);
        bases = [...bases.slice(1 - MOST_BASES), clock.monotonic()];
        continue;
      }
      progress?.({ kind: "start", start: found.start });
      const stretch = new StretchFollower(options, found.start, () => (pause = PAUSE_MIN_MS));
      await stretch.run();
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof BaseNeeded) floor = Math.max(floor, error.floor);
      else if (!(error instanceof LookAgain) && !isTransient(error)) throw error;
      else {
        if (!(error instanceof LookAgain)) progress?.({ kind: "retry", error });
        await sleep(clock, pause, signal).catch(() => undefined);
        pause = Math.min(2 * pause, PAUSE_MAX_MS);
      }
    }
  }
}

/** Stores have tried several times when they say so; the log has time. */
function isTransient(error: unknown): error is Error {
  if (isEtcdError(error)) return error.retryable;
  return (
    error instanceof NoMemberError || isStoreError(error, "unreachable", "interrupted", "full", "failed")
  );
}

class StretchFollower {
  readonly #options: FollowOptions;
  readonly #start: Start;
  readonly #written: () => void;
  readonly #collector: Collector;
  readonly #ttls: LeaseTtls;
  #draft: SegmentDraft;
  /** The log has a segment of this stretch, and ends with this revision. */
  #stored: { revision: number; time: number } | undefined;
  /** Revisions after this one were read by a watch that began there; compaction may have taken some meanwhile. */
  #unproven: number | undefined;
  /** The last record, and the one that `#unproven` is of: etcd has to have it still. */
  #tip: RevisionRecord | undefined;
  #unprovenTip: RevisionRecord | undefined;
  #since: string;
  /** When the log was last known to be complete, or tried to be. */
  #checkedAt: number;

  constructor(options: FollowOptions, start: Start, written: () => void) {
    const { clock, client } = options;
    this.#options = options;
    this.#start = start;
    this.#written = written;
    this.#collector = new Collector(start.after, start.notBefore);
    this.#ttls = new LeaseTtls(client);
    this.#draft = new SegmentDraft(start.after);
    this.#stored = start.resumed ? { revision: start.after, time: start.notBefore } : undefined;
    this.#since = new Date(clock.now()).toISOString();
    this.#checkedAt = clock.monotonic();
  }

  async run(): Promise<void> {
    const { signal, client, intervalMs, progress } = this.#options;
    for (let misses = 0, at = this.#start.after; ;) {
      try {
        const batches = client.watches.watch("", {
          prefix: true,
          startRevision: BigInt(this.#collector.complete + 1),
          wholeRevisions: true,
          progressEveryMs: Math.min(PROGRESS_MOST_MS, Math.max(PROGRESS_LEAST_MS, intervalMs / 4)),
          signal,
          onInterrupted: (error) => progress?.({ kind: "retry", error }),
        });
        for await (const batch of batches) await this.#take(batch);
        await this.#lastWrite();
        return;
      } catch (error) {
        if (isEtcdError(error) && error.kind === "compacted")
          throw await this.#end("compacted", Number(error.compactRevision ?? this.#collector.complete + 1));
        if (!(error instanceof EventsMissing)) throw error;
        misses = this.#collector.complete > at ? 0 : misses + 1;
        at = this.#collector.complete;
        if (misses >= MOST_MISSES) throw await this.#end("gap", this.#collector.complete + 1);
        progress?.({ kind: "retry", error });
      }
    }
  }

  async #take(batch: WatchBatch): Promise<void> {
    const { clock, signal, segmentBytes = SEGMENT_BYTES, intervalMs } = this.#options;
    const { clusterId } = this.#start;
    if (batch.type === "created") {
      if (formatId(batch.clusterId) !== clusterId) throw new LookAgain();
      this.#collector.restarted();
      // What was received as it came, and what comes after a time away, are in different segments.
      if (this.#draft.last > this.#draft.after) await this.#write(signal);
      if (this.#unproven === undefined) {
        this.#unproven = this.#collector.complete;
        this.#unprovenTip = this.#tip;
      }
      this.#since = new Date(clock.now()).toISOString();
      return;
    }
    try {
      if (batch.type === "events") {
        const leases = batch.events.flatMap(({ type, kv }) => (type === "put" ? [kv.lease] : []));
        await this.#ttls.learn(leases, signal);
        this.#collector.events(batch.events, clock.now());
      } else this.#collector.progress(Number(batch.revision));
    } finally {
      for (const record of this.#collector.taken()) {
        this.#draft.add(record, this.#ttls.of(record));
        this.#tip = record;
      }
    }
    if (this.#draft.bytes >= segmentBytes) await this.#write(signal);
    if (clock.monotonic() - this.#checkedAt < intervalMs) return;
    // When etcd says that it has sent everything, nothing else had come by now.
    const settled = batch.type === "progress" && Number(batch.revision) === this.#collector.complete;
    if (settled) await this.#write(signal, clock.now());
    else if (this.#draft.last > this.#draft.after) await this.#write(signal);
    // The member is far behind, or the cluster was set back.
    else if (batch.type === "progress" && Number(batch.revision) < this.#collector.complete)
      throw new LookAgain();
  }

  /** Writes what is whole, and until when nothing else had come. */
  async #write(signal: AbortSignal, settledAt = 0): Promise<void> {
    const { client, store, clock, progress } = this.#options;
    const { clusterId, base, authRevision, authEnabled } = this.#start;
    const draft = this.#draft;
    // After the changes were received: it goes through raft, so it is the state after all of them.
    if (!isSameAuth(await authStateOf(client, signal), this.#start))
      throw await this.#end("auth", draft.after);
    if (draft.last > draft.after) {
      await this.#prove(signal);
      const place = { clusterId, base, authRevision, authEnabled, since: this.#since };
      try {
        const name = await writeSegment(store, draft, place, { ...this.#options, signal });
        progress?.({ kind: "segment", name, first: draft.after + 1, last: draft.last });
      } catch (error) {
        if (isStoreError(error, "exists")) throw new LookAgain();
        throw error;
      }
      this.#stored = { revision: draft.last, time: draft.lastTime };
      this.#draft = new SegmentDraft(draft.last);
      this.#ttls.forget();
      this.#written();
    }
    this.#checkedAt = clock.monotonic();
    await this.#tell(draft.last, settledAt, signal);
  }

  async #tell(revision: number, settledAt: number, signal: AbortSignal): Promise<void> {
    const { store, progress } = this.#options;
    const latest = Math.max(settledAt, this.#stored?.time ?? 0);
    if (latest === 0) return;
    const time = new Date(latest).toISOString();
    try {
      await writeLive(store, this.#start.clusterId, { revision, time }, signal);
      progress?.({ kind: "complete", revision, time });
    } catch (error) {
      // It only says that nothing happened since; the next one will.
      if (!isStoreError(error) || signal.aborted) throw error;
      progress?.({ kind: "retry", error });
    }
  }

  /**
   * A watch that begins at the very revision that is being compacted can miss deletions in it. If the revision before is
   * still there after its changes were received, nothing was missing.
   */
  async #prove(signal: AbortSignal): Promise<void> {
    const unproven = this.#unproven;
    if (unproven === undefined) return;
    const { client } = this.#options;
    // While the watch was away, the cluster may have been set back, and have come past this revision again.
    const tip = this.#unprovenTip;
    if (tip !== undefined && (await compareHistory(client, tip, signal)) === "other")
      throw setBack(this.#start, `has other changes at revision ${tip.revision} than were received before`);
    try {
      const revision = BigInt(unproven);
      await client.kv.range("\0", { limit: 1, keysOnly: true, revision, signal });
      this.#unproven = undefined;
    } catch (error) {
      if (error instanceof EtcdError && error.kind === "compacted")
        throw await this.#end("compacted", unproven + 1);
      throw error;
    }
  }

  /** Says in the store that this stretch ends with what it has. */
  async #end(reason: EndReason, floor: number): Promise<BaseNeeded> {
    const { store, signal } = this.#options;
    if (this.#stored !== undefined) {
      const time = new Date(this.#stored.time).toISOString();
      await writeEnd(store, this.#start.clusterId, { revision: this.#stored.revision, time, reason }, signal);
    }
    return new BaseNeeded(reason, floor);
  }

  /** When the process is to end. What cannot be written now is read again from etcd by the next one. */
  async #lastWrite(): Promise<void> {
    const { clock, progress } = this.#options;
    using limit = deadline(clock, LAST_WRITE_MS);
    try {
      await this.#write(limit.signal);
    } catch (error) {
      progress?.({ kind: "retry", error: error instanceof Error ? error : new Error(String(error)) });
    }
  }
}
