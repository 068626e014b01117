/**
 * Whether a learner has caught up with the leader. Members are not asked at the very same moment, so under heavy writes
 * a learner that follows closely always seems behind, by what was written between two answers.
 */
import type { View } from "../view.ts";

/** Entries that a learner may lack; the leader sends them in a fraction of a second. */
const CLOSE_ENOUGH = 1000;
/** What is written in this time may be missing too: no answer of one observation is older. */
const ASKED_WITHIN_S = 1;

/** How many entries behind is as good as level. etcd asks for nine tenths of the log on top (R18). */
export function closeEnough({ observation }: View): number {
  return Math.max(CLOSE_ENOUGH, (observation.etcd.entriesPerSecond ?? 0) * ASKED_WITHIN_S);
}
