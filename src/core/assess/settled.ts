/** Whether a member is at rest: what restarts everybody begins only while all are. */
import type { MemberView } from "../view.ts";

/** It is well, runs what its record says, and stays. */
export function isSettled({ healthy, upToDate, record }: MemberView): boolean {
  return healthy && upToDate && record.joined && !record.leaving && !record.retiring;
}
