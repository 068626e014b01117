/** Whether all copies were compared lately, or have to be before one of them is put at risk. */
import { millisecondsOf } from "../../api/duration.ts";
import type { View } from "../view.ts";

/** How old a comparison of all voters may be when one of them is about to go or to restart. */
const COMPARED_MS = 300_000;

export function needsComparison(view: View): boolean {
  // Somebody who turned the comparison off does not want it here either.
  const interval = millisecondsOf(view.spec.maintenance.hashCheck.interval);
  if (interval === 0 || view.voters < 2) return false;
  return view.now - (view.observation.etcd.hashes?.at ?? 0) > COMPARED_MS;
}
