/**
 * How long a rescue waits for the etcd that runs on its copy. etcd listens at once, and answers when it has read all of its
 * data: so one that listens is starting, for as long as its data may take, and one that does not is not there.
 */
import { deadline, sleep, type Clock } from "../seams/clock.ts";
import { RescueError } from "./rescue-error.ts";

/** Besides its data: for images that are pulled, and processors that are busy. */
const ANYWAY_MS = 10 * 60_000;
/** A megabyte a second: a disk that is slower serves no etcd. */
const SLOWEST_BYTES_PER_MS = 1_000;
const POLL_MS = 500;

export function servesWithinMs(bytes: number): number {
  return ANYWAY_MS + Math.ceil(bytes / SLOWEST_BYTES_PER_MS);
}

export interface Wait {
  /** Of the data that etcd reads. */
  readonly bytes: number;
  readonly serves: (limit: AbortSignal) => Promise<boolean>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

export async function untilServing({ bytes, serves, clock, signal }: Wait): Promise<void> {
  const patienceMs = servesWithinMs(bytes);
  using limit = deadline(clock, patienceMs, signal);
  let heardAt = clock.monotonic();
  while (!limit.signal.aborted) {
    try {
      if (await serves(limit.signal)) return;
      heardAt = clock.monotonic();
    } catch (error) {
      if (!isRefused(error)) heardAt = clock.monotonic();
    }
    if (clock.monotonic() - heardAt >= ANYWAY_MS)
      throw new RescueError(
        `no etcd has run on the copy for ${ANYWAY_MS / 60_000} minutes: see the state and the log of its container`,
      );
    await sleep(clock, POLL_MS, limit.signal).catch(() => undefined);
  }
  signal.throwIfAborted();
  throw new RescueError(
    `etcd did not serve from the copy within ${Math.ceil(patienceMs / 60_000)} minutes: see the log of its container`,
  );
}

/** Nothing listens there. */
function isRefused(error: unknown): boolean {
  for (let at = error; at instanceof Error; at = at.cause)
    if ((at as NodeJS.ErrnoException).code === "ECONNREFUSED") return true;
  return false;
}
