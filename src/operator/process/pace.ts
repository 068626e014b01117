/**
 * How often clusters at rest are looked at, by how many there are. Events wake a cluster at once; looks are for what
 * makes no event, such as an etcd that hangs, and those of a few hundred clusters must not cost a processor.
 * Most of them are short (control/glance.ts).
 */
import { fraction } from "../../seams/backoff.ts";
import type { Random } from "../../seams/random.ts";

/** With up to so many, each is looked at every five seconds. */
const FEW = 50;
const FEW_REST_MS = 5_000;
/** What is told is true within 10 s, with the seconds that a look at a member that hangs may take. */
const REST_MS = 7_000;
/** Beyond these, seventy looks in a second are enough. */
const MOST = 500;
const EACH_MS = REST_MS / MOST;
/** With up to so many, each look is a whole one: their connections are kept. */
const VERY_FEW = 16;
/** A whole look connects to every member; one in a second is enough. */
const WHOLE_EACH_MS = 1_000;
const LONGEST_WHOLE_MS = 300_000;
/** Connections to etcd that are kept beside one of each cluster: all of the very few, if they have three members. */
const FEW_IDLE = 2 * VERY_FEW;
/** Of more clusters, most would be ended before they are used again, and each holds 100 kB until then. */
const MANY_IDLE = 4;

/** When a cluster at rest is looked at again; of many, not all at the same time. */
export function restMs(clusters: number, random: Random): number {
  if (clusters <= FEW) return FEW_REST_MS;
  return Math.round(Math.max(REST_MS, clusters * EACH_MS) * (0.85 + 0.3 * fraction(random)));
}

/** How long short looks stand for a whole one; of many, not for all of them at the same time. */
export function wholeMs(clusters: number, random: Random): number {
  if (clusters <= VERY_FEW) return 0;
  return Math.round(Math.min(LONGEST_WHOLE_MS, clusters * WHOLE_EACH_MS) * (0.5 + fraction(random)));
}

/** How many connections to etcd are kept for the next look, beside one of each cluster. */
export function idleConnections(clusters: number): number {
  return clusters <= VERY_FEW ? FEW_IDLE : MANY_IDLE;
}
