/**
 * How long a member may be silent before it counts as dead. Defragmentation silences it for as long as it
 * takes to copy what is in use, and ending it then would begin it anew (H12).
 */
import type { EtcdOptions } from "../../api/options.ts";
import { bytesOf } from "../../api/quantity.ts";

/** 698 MB took 10.3 s on an ordinary disk; the margin below is for worse ones. */
const DEFRAGMENTATION_MS_PER_GIB = 15_000;
const MARGIN = 3;
const SHORTEST_MS = 90_000;

/** How long a defragmentation of a database of this size silences its member. */
export function defragmentationMs(bytes: number): number {
  return (bytes / 1024 ** 3) * DEFRAGMENTATION_MS_PER_GIB;
}

/** The period of a liveness probe times its threshold: enough for a defragmentation at full quota. */
export function livenessPatienceMs({ quotaBackendBytes }: Pick<EtcdOptions, "quotaBackendBytes">): number {
  return Math.max(SHORTEST_MS, MARGIN * defragmentationMs(bytesOf(quotaBackendBytes)));
}

/** Whether a database of this size, larger than its quota perhaps, may be defragmented within that patience. */
export function mayDefragment(options: Pick<EtcdOptions, "quotaBackendBytes">, bytes: number): boolean {
  return MARGIN * defragmentationMs(bytes) <= livenessPatienceMs(options);
}
