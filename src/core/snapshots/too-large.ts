/** A database above its quota takes no write: no cluster that is any use would come of its snapshot. */
import { mebibytes } from "../messages/words.ts";

/** Undefined where it fits. */
export function tooLarge(size: number, quota: number): string | undefined {
  if (size <= quota) return undefined;
  return `the snapshot has ${mebibytes(size)}, and the quota of the cluster is ${mebibytes(quota)}: raise spec.options.quotaBackendBytes first`;
}
