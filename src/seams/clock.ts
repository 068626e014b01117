/**
 * Time as a port. Everything that needs to know the time or to wait for it takes a `Clock`,
 * so that the simulator can own time. The real clock below is the only place that touches the
 * machine's; `npm run check` refuses `Date.now`, timers and friends anywhere else.
 */

/** A started timer. `cancel` is idempotent and safe after the timer fired. */
export interface Timer {
  cancel(): void;
}

export interface Clock {
  /** Wall time in milliseconds since the epoch. May jump. */
  now(): number;
  /** Milliseconds that never go back; only differences mean anything. */
  monotonic(): number;
  /** Runs `fire` once, `ms` from now. `background` timers do not keep the process alive. */
  timer(ms: number, fire: () => void, options?: { background?: boolean }): Timer;
}

/** Node clamps longer delays to 1 ms, which would turn a long wait into a busy loop. */
const LONGEST_DELAY_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  timer(ms, fire, options) {
    const handle = setTimeout(fire, Math.min(Math.max(0, ms), LONGEST_DELAY_MS));
    if (options?.background) handle.unref();
    return { cancel: () => clearTimeout(handle) };
  },
};

/** Resolves after `ms`, or rejects with the signal's reason when it aborts first. */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(asError(signal.reason));
      return;
    }
    const onAbort = () => {
      timer.cancel();
      reject(asError(signal?.reason));
    };
    const timer = clock.timer(ms, () => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    });
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason ?? "aborted"));
}

/** Why a deadline aborted: tells a time-out apart from a cancellation by the caller. */
export class DeadlineExceeded extends Error {
  override name = "DeadlineExceeded";
  readonly timeoutMs: number;
  constructor(timeoutMs: number) {
    super(`no answer within ${timeoutMs} ms`);
    this.timeoutMs = timeoutMs;
  }
}

/**
 * A signal that aborts after `ms` or with `parent`, and lets go of both when disposed.
 * `AbortSignal.any([parent, AbortSignal.timeout(ms)])` per call leaks while the parent lives.
 */
export function deadline(
  clock: Clock,
  ms: number,
  parent?: AbortSignal,
): Disposable & { signal: AbortSignal } {
  const controller = new AbortController();
  const onParent = () => controller.abort(parent?.reason);
  const timer = clock.timer(ms, () => controller.abort(new DeadlineExceeded(ms)), { background: true });
  if (parent?.aborted) onParent();
  else parent?.addEventListener("abort", onParent, { once: true });
  return {
    signal: controller.signal,
    [Symbol.dispose]() {
      timer.cancel();
      parent?.removeEventListener("abort", onParent);
    },
  };
}
