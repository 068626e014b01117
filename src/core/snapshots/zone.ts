/** By how much the clocks of a time zone are ahead of UTC, and when that changes. Intl is slow, so both are kept. */

const MINUTE = 60_000;
const DAY = 86_400_000;
/** So many zones, and days of each, are kept; then they are forgotten. */
const MOST_ZONES = 128;
const MOST_DAYS = 64;

/** Offsets in milliseconds before and after the moment `at`; both are the same where nothing changes. */
export interface Clocks {
  readonly before: number;
  readonly after: number;
  readonly at: number;
}

interface Zone {
  readonly format: Intl.DateTimeFormat;
  readonly days: Map<number, Clocks>;
}

/** By name in lower case: to Intl they are the same. */
const zones = new Map<string, Zone>();

/** Whether this platform knows the time zone. */
export function isZone(name: string): boolean {
  try {
    zoneOf(name);
    return true;
  } catch {
    return false;
  }
}

/** Of a day and its neighbours. `day` is its midnight on the wall, as if it were UTC's. */
export function clocksAround(name: string, day: number): Clocks {
  const { days } = zoneOf(name);
  return kept(days, MOST_DAYS, day, () => {
    let [from, to] = [day - DAY, day + 2 * DAY];
    const [before, after] = [offsetAt(name, from), offsetAt(name, to)];
    while (before !== after && to - from > MINUTE) {
      const middle = from + Math.floor((to - from) / (2 * MINUTE)) * MINUTE;
      if (offsetAt(name, middle) === before) from = middle;
      else to = middle;
    }
    return { before, after, at: to };
  });
}

/** In milliseconds. */
export function offsetAt(name: string, time: number): number {
  if (name === "UTC") return 0;
  const parts: Record<string, number> = {};
  for (const { type, value } of zoneOf(name).format.formatToParts(time)) parts[type] = Number(value);
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
  return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(time / 1000) * 1000;
}

function zoneOf(name: string): Zone {
  return kept(zones, MOST_ZONES, name.toLowerCase(), () => {
    const format = new Intl.DateTimeFormat("en-US", {
      timeZone: name,
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    });
    return { format, days: new Map() };
  });
}

function kept<Key, Value>(all: Map<Key, Value>, most: number, key: Key, make: () => Value): Value {
  const known = all.get(key);
  if (known !== undefined) return known;
  const made = make();
  if (all.size >= most) all.clear();
  all.set(key, made);
  return made;
}
