/**
 * Which snapshots to keep, as a pure function. Only complete snapshots with a manifest of ours take part; each cluster
 * in the store is judged by itself, and its newest good snapshot is kept whatever the policy says. Periods are UTC's.
 */
import type { Entry } from "./catalog.ts";

export const PERIODS = ["hourly", "daily", "weekly", "monthly", "yearly"] as const;
export type Period = (typeof PERIODS)[number];

/** How many to keep: the last ones, and the newest of each of the last so many periods that have one. */
export type Retention = Readonly<Record<Period | "keepLast", number>>;

export type KeepReason = "newest" | "last" | Period;

export interface Verdict {
  readonly entry: Entry;
  /** Empty: it may be deleted. */
  readonly keep: readonly KeepReason[];
}

/** Verdicts over the snapshots that are ours to judge, newest first; all others are left alone. */
export function judge(entries: readonly Entry[], policy: Retention): readonly Verdict[] {
  const ours = entries.filter((entry) => entry.state === "complete" && entry.manifest !== undefined);
  const clusters = Map.groupBy(ours, (entry) => entry.manifest?.clusterId);
  return [...clusters.values()].flatMap((group) => judgeCluster(group, policy));
}

function judgeCluster(entries: readonly Entry[], policy: Retention): Verdict[] {
  const newestFirst = entries.toSorted(
    (a, b) => b.at.getTime() - a.at.getTime() || (a.name < b.name ? 1 : -1),
  );
  const reasons = newestFirst.map((_, index): KeepReason[] => [
    ...(index === 0 ? (["newest"] as const) : []),
    ...(index < policy.keepLast ? (["last"] as const) : []),
  ]);
  for (const period of PERIODS) {
    const seen = new Set<string>();
    for (const [index, entry] of newestFirst.entries()) {
      if (seen.size >= policy[period]) break;
      const name = periodOf(entry.at, period);
      if (seen.has(name)) continue;
      seen.add(name);
      reasons[index]?.push(period);
    }
  }
  return newestFirst.map((entry, index) => ({ entry, keep: reasons[index] ?? [] }));
}

/** The period a moment is in, as a name that is equal for all moments in it. */
export function periodOf(at: Date, period: Period): string {
  const text = at.toISOString();
  switch (period) {
    case "hourly":
      return text.slice(0, 13);
    case "daily":
      return text.slice(0, 10);
    case "weekly":
      return mondayOf(at);
    case "monthly":
      return text.slice(0, 7);
    case "yearly":
      return text.slice(0, 4);
  }
}

/** Weeks begin on Monday, as in ISO 8601. */
function mondayOf(at: Date): string {
  const day = Date.UTC(at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate() - ((at.getUTCDay() + 6) % 7));
  return new Date(day).toISOString().slice(0, 10);
}
