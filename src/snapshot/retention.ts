/**
 * Which snapshots in a store to keep. Only complete snapshots with a manifest of ours take part; each cluster in the
 * store is judged by itself, and its newest good snapshot is kept whatever the policy says.
 */
import {
  keepReasons,
  PERIODS,
  periodOf,
  type KeepReason,
  type Retention,
} from "../core/snapshots/retention.ts";
import type { Entry } from "./catalog.ts";
import { UNKNOWN_ID } from "./manifest.ts";

export { PERIODS, periodOf, type KeepReason, type Retention };

export interface Verdict {
  readonly entry: Entry;
  /** Empty: it may be deleted. */
  readonly keep: readonly KeepReason[];
}

/** Verdicts over the snapshots that are ours to judge, newest first; all others are left alone. */
export function judge(entries: readonly Entry[], policy: Retention): readonly Verdict[] {
  const ours = entries.filter((entry) => entry.state === "complete" && !isOfUnknown(entry));
  const clusters = Map.groupBy(ours, (entry) => entry.manifest?.clusterId);
  return [...clusters.values()].flatMap((group) =>
    keepReasons(
      group.map((entry) => ({ entry, at: entry.at.getTime(), name: entry.name })),
      policy,
    ).map(({ item: { entry }, keep }) => ({ entry, keep })),
  );
}

/** Imports without a cluster ID may be of any number of clusters, and one of them the only snapshot of its own. */
export function isOfUnknown({ manifest }: Entry): boolean {
  return manifest === undefined || manifest.clusterId === UNKNOWN_ID;
}
