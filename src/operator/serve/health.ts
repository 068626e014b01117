/**
 * Whether this process is alive and ready, judged from facts with the time given. Alive means that the work gets
 * on: a process that answers but whose loop is stuck has to be restarted. Ready means that it knows the objects it
 * would act on; a process that stands by without the lease is ready too.
 */
import type { WorkQueue } from "../../kube/queue.ts";
import type { Clock, Timer } from "../../seams/clock.ts";
import type { CatchingUp } from "../cache/take-over.ts";

export interface Verdict {
  readonly ok: boolean;
  /** One line for each thing that was looked at. */
  readonly lines: readonly string[];
}

export interface LifeFacts {
  /** How long the longest-running reconcile has been running. */
  readonly longestRunMs: number;
  /** How long the oldest entry of the queue has been waiting for a worker. */
  readonly longestWaitMs: number;
  /** How long ago the last heartbeat was. */
  readonly beatAgoMs: number;
  /** It leads, and waits for its caches before it acts. */
  readonly catchingUp?: CatchingUp | undefined;
  /** Parts that have ended and will not come back by themselves. */
  readonly ended: readonly string[];
}

export interface LifeBounds {
  readonly runMs: number;
  readonly waitMs: number;
  readonly beatMs: number;
  readonly catchUpMs: number;
}

/**
 * The longest call is a defragmentation of five minutes; whoever waits may wait for that. Killing a process that
 * only is slow would begin the same work anew, so the bounds are wide.
 */
export const LIFE_BOUNDS: LifeBounds = {
  runMs: 7 * 60_000,
  waitMs: 10 * 60_000,
  beatMs: 30_000,
  catchUpMs: 5 * 60_000,
};
/** A new leader that has not caught up by then is not ready. */
const CATCH_UP_REPORTED_MS = 10_000;

export function judgeLife(facts: LifeFacts, bounds: LifeBounds = LIFE_BOUNDS): Verdict {
  const judged = [
    judge("longest reconcile", facts.longestRunMs, bounds.runMs),
    judge("oldest in the queue", facts.longestWaitMs, bounds.waitMs),
    judge("last heartbeat", facts.beatAgoMs, bounds.beatMs),
    ...(facts.catchingUp ? [judgeCatchingUp(facts.catchingUp, bounds.catchUpMs)] : []),
    ...facts.ended.map((part) => ({ ok: false, lines: [`not ok: ${part} stopped`] })),
  ];
  return { ok: judged.every(({ ok }) => ok), lines: judged.flatMap(({ lines }) => lines) };
}

function judge(what: string, ms: number, boundMs: number): Verdict {
  const ok = ms <= boundMs;
  const seconds = (value: number) => `${(value / 1000).toFixed(1)} s`;
  return {
    ok,
    lines: [`${ok ? "ok" : "not ok"}: ${what} ${seconds(ms)}, at most ${seconds(boundMs)}`],
  };
}

function judgeCatchingUp({ forMs, resources }: CatchingUp, boundMs: number): Verdict {
  return judge(`new leader waiting for its caches of ${resources.join(", ")} to catch up`, forMs, boundMs);
}

export interface StoreFacts {
  /** The plural of its resource. */
  readonly resource: string;
  readonly synced: boolean;
  /** Why it may be behind. */
  readonly trouble?: string | undefined;
  /** It follows the server no longer, by an error of ours. */
  readonly ended?: boolean;
  /** The operator works without it. */
  readonly optional?: boolean;
}

/** `starting` says what has to happen before any store can be looked at. */
export function judgeReadiness(
  stores: readonly StoreFacts[],
  starting?: string,
  catchingUp?: CatchingUp,
): Verdict {
  if (starting !== undefined) return { ok: false, lines: [`not ok: ${starting}`] };
  const lines = stores.map(({ resource, synced, trouble, optional }) => {
    const verdict = optional ? "ok" : "not ok";
    if (!synced)
      return `${verdict}: ${resource} not synced yet${trouble === undefined ? "" : ` (${trouble})`}`;
    return trouble === undefined ? `ok: ${resource}` : `${verdict}: ${resource} may be behind (${trouble})`;
  });
  if (catchingUp) lines.push(...judgeCatchingUp(catchingUp, CATCH_UP_REPORTED_MS).lines);
  return { ok: lines.every((line) => line.startsWith("ok")), lines };
}

/** Whether the process makes progress: beats as long as the event loop turns, and tells how late it was. */
export class ProgressMonitor {
  readonly #clock: Clock;
  readonly #everyMs: number;
  #timer: Timer;
  #beatAt: number;
  #lagMs = 0;

  constructor(clock: Clock, everyMs = 1_000) {
    this.#clock = clock;
    this.#everyMs = everyMs;
    this.#beatAt = clock.monotonic();
    this.#timer = this.#next();
  }

  /** How late the last beat was. */
  get lagMs(): number {
    return this.#lagMs;
  }

  get beatAgoMs(): number {
    return this.#clock.monotonic() - this.#beatAt;
  }

  stop(): void {
    this.#timer.cancel();
  }

  #next(): Timer {
    return this.#clock.timer(
      this.#everyMs,
      () => {
        const now = this.#clock.monotonic();
        this.#lagMs = Math.max(0, now - this.#beatAt - this.#everyMs);
        this.#beatAt = now;
        this.#timer = this.#next();
      },
      { background: true },
    );
  }
}

/** The facts of one moment. */
export function lifeFacts(
  progress: Pick<ProgressMonitor, "beatAgoMs">,
  queue?: Pick<WorkQueue, "longestRunMs" | "longestWaitMs">,
  ended: readonly string[] = [],
  catchingUp?: CatchingUp,
): LifeFacts {
  return {
    longestRunMs: queue?.longestRunMs ?? 0,
    longestWaitMs: queue?.longestWaitMs ?? 0,
    beatAgoMs: progress.beatAgoMs,
    catchingUp,
    ended,
  };
}
