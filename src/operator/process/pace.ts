/**
 * How often clusters at rest are looked at, by how many there are. Events wake a cluster at once; looks are for what
 * makes no event, such as an etcd that hangs, and those of a few hundred clusters must not cost a processor.
 */
import { fraction } from "../../seams/backoff.ts";
import type { Random } from "../../seams/random.ts";

/** With up to so many, each is looked at every five seconds. */
const FEW = 50;
const REST_MS = 5_000;
const LONGEST_REST_MS = 60_000;

/** With more, ten of them in a second, and not all at the same time. */
export function restMs(clusters: number, random: Random): number {
  if (clusters <= FEW) return REST_MS;
  const pace = Math.min(LONGEST_REST_MS, (REST_MS * clusters) / FEW);
  return Math.round(pace * (0.75 + fraction(random) / 2));
}
