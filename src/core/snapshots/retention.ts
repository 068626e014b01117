/**
 * Which snapshots to keep, as a pure function: the newest one always, the last ones, and the newest of each of the last
 * so many periods that have one. Periods are UTC's.
 */

export const PERIODS = ["hourly", "daily", "weekly", "monthly", "yearly"] as const;
export type Period = (typeof PERIODS)[number];

/** How many to keep: the last ones, and the newest of each of the last so many periods that have one. */
export type Retention = Readonly<Record<Period | "keepLast", number>>;

export type KeepReason = "newest" | "last" | Period;

/** For each, why it is kept, newest first; nothing for one that may go. All have to be good, and of one cluster. */
export function keepReasons<T extends { readonly at: number; readonly name: string }>(
  items: readonly T[],
  policy: Retention,
): readonly { readonly item: T; readonly keep: readonly KeepReason[] }[] {
  const newestFirst = items.toSorted((a, b) => b.at - a.at || (a.name < b.name ? 1 : -1));
  const reasons = newestFirst.map((_, index): KeepReason[] => [
    ...(index === 0 ? (["newest"] as const) : []),
    ...(index < policy.keepLast ? (["last"] as const) : []),
  ]);
  for (const period of PERIODS) {
    const seen = new Set<string>();
    for (const [index, { at }] of newestFirst.entries()) {
      if (seen.size >= policy[period]) break;
      const name = periodOf(new Date(at), period);
      if (seen.has(name)) continue;
      seen.add(name);
      reasons[index]?.push(period);
    }
  }
  return newestFirst.map((item, index) => ({ item, keep: reasons[index] ?? [] }));
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
