/**
 * When the quota will be full if data grows on as it did. What counts is what is in use: free pages of the file are used
 * first (R26). A line through hours of samples, since compactions make the size fall and rise again.
 */
import { runningQuota } from "./quota.ts";
import type { View } from "../view.ts";

export interface SizeSample {
  /** Milliseconds, by any clock that does not jump. */
  readonly at: number;
  readonly bytes: number;
}

/** Less than this says nothing about a rate. */
const SHORTEST_MS = 15 * 60_000;
const FEWEST = 4;

/** Bytes per second, by least squares; undefined while too little was seen. */
export function growthOf(samples: readonly SizeSample[]): number | undefined {
  const [first, last] = [samples[0], samples.at(-1)];
  if (!first || !last || samples.length < FEWEST || last.at - first.at < SHORTEST_MS) return undefined;
  const mean = (read: (sample: SizeSample) => number) =>
    samples.reduce((sum, sample) => sum + read(sample), 0) / samples.length;
  const [at, bytes] = [mean((sample) => sample.at), mean((sample) => sample.bytes)];
  const spread = mean((sample) => (sample.at - at) ** 2);
  const together = mean((sample) => (sample.at - at) * (sample.bytes - bytes));
  return (1_000 * together) / spread;
}

const DAY_MS = 86_400_000;
/** What is further away than this is not reported, and what was reported is withdrawn only well beyond. */
const REPORTED_WITHIN_MS = 30 * DAY_MS;
const WITHDRAWN_MS = 40 * DAY_MS;
/** As long as a new estimate differs by no more than this share of the time left, the old one stays. */
const TOLERANCE = 0.25;

/**
 * The time at which the quota is full, for a status: `reported` is what it said before. It changes when the estimate has
 * moved by much, not with every look.
 */
export function quotaFullAt(view: View, reported: number | undefined): number | undefined {
  const { now } = view;
  const { bytesPerSecond } = view.observation.etcd;
  // Not measured yet, as after a restart of the operator: what was reported stands.
  if (bytesPerSecond === undefined) return reported;
  const estimate = estimateOf(view, bytesPerSecond);
  if (estimate === undefined) return undefined;
  if (reported === undefined)
    return estimate - now <= REPORTED_WITHIN_MS ? rounded(estimate, now) : undefined;
  if (estimate - now > WITHDRAWN_MS) return undefined;
  const stands = reported > now && Math.abs(estimate - reported) <= TOLERANCE * (reported - now);
  return stands ? reported : rounded(estimate, now);
}

function estimateOf(view: View, bytesPerSecond: number): number | undefined {
  if (bytesPerSecond <= 0) return undefined;
  const left = view.members.flatMap((member) => {
    const quota = member.answer.reachable && member.isVoter ? runningQuota(member) : undefined;
    return quota === undefined || !member.answer.reachable ? [] : [quota - member.answer.dbSizeInUse];
  });
  if (left.length === 0) return undefined;
  return view.now + (1_000 * Math.max(0, Math.min(...left))) / bytesPerSecond;
}

/** To ten minutes, or to the hour where it is more than a day away. */
function rounded(at: number, now: number): number {
  const step = at - now > DAY_MS ? 3_600_000 : 600_000;
  return Math.max(now, Math.round(at / step) * step);
}
