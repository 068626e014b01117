/**
 * What killed writes left in a store. No listing has it, and each may be as large as a snapshot. One that is removed while
 * its write is still under way costs that attempt and nothing else: its object does not appear.
 */
import type { Leftover, Store } from "./store/store.ts";

/**
 * A write that is under way adds bytes all the time: etcd and stores are given up after a silence of minutes. The rest is
 * for clocks that differ, that of a file server among them.
 */
const DEAD_AFTER_MS = 24 * 3_600_000;

/** Directly in the folder: of these objects. */
export async function leftoversOf(
  store: Store,
  folder: string,
  isMeant: (leftover: Leftover) => boolean,
  signal: AbortSignal,
): Promise<Leftover[]> {
  const found: Leftover[] = [];
  for await (const leftover of store.leftovers?.(folder, signal) ?? [])
    if (isMeant(leftover)) found.push(leftover);
  return found;
}

/** Whoever wrote it: nothing was added for so long that no process does any more. */
export function isDead({ modifiedAt }: Leftover, now: number): boolean {
  return now - modifiedAt.getTime() > DEAD_AFTER_MS;
}
