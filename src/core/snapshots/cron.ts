/**
 * When a schedule is due: the five fields of cron in a time zone. A time that a change of the clock skips is taken as
 * much later, and one that comes twice is taken once, the first time; a schedule that names no hour runs through both.
 */

export interface Cron {
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
  readonly days: ReadonlySet<number>;
  readonly months: ReadonlySet<number>;
  readonly weekdays: ReadonlySet<number>;
  /** With both given, a day counts when either matches, as in every cron. */
  readonly either: boolean;
  /** It names hours: such a time is meant once a day. */
  readonly fixedHours: boolean;
}

export class CronError extends Error {
  override name = "CronError";
}

const MACROS: Readonly<Record<string, string>> = {
  "@hourly": "0 * * * *",
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@weekly": "0 0 * * 0",
  "@monthly": "0 0 1 * *",
  "@yearly": "0 0 1 1 *",
  "@annually": "0 0 1 1 *",
};

const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

interface Field {
  readonly name: string;
  readonly from: number;
  readonly to: number;
  /** The first one stands for `from`. */
  readonly words?: readonly string[];
}

const FIELDS = [
  { name: "minute", from: 0, to: 59 },
  { name: "hour", from: 0, to: 23 },
  { name: "day of the month", from: 1, to: 31 },
  { name: "month", from: 1, to: 12, words: MONTHS },
  // Sunday is 0 and 7.
  { name: "day of the week", from: 0, to: 7, words: WEEKDAYS },
] as const satisfies readonly Field[];

export function parseCron(text: string): Cron {
  const given = text.trim().toLowerCase();
  const parts = (MACROS[given] ?? given).split(/\s+/);
  if (parts.length !== FIELDS.length)
    throw new CronError(
      `"${text}" has ${parts.length} fields, and a schedule has five: minute, hour, day of the month, month, day of the week, such as 0 3 * * *`,
    );
  const [minutes, hours, days, months, weekdays] = FIELDS.map((field, index) =>
    valuesOf(field, parts[index] ?? ""),
  ) as [number[], number[], number[], number[], number[]];
  const cron: Cron = {
    minutes,
    hours,
    days: new Set(days),
    months: new Set(months),
    weekdays: new Set(weekdays.map((day) => day % 7)),
    either: !parts[2]?.startsWith("*") && !parts[4]?.startsWith("*"),
    fixedHours: !parts[1]?.startsWith("*"),
  };
  if (!canMatch(cron)) throw new CronError(`"${text}" names a day that no month has, so it would never run`);
  return cron;
}

function valuesOf(field: Field, text: string): number[] {
  const wrong = (why: string): never => {
    throw new CronError(`the ${field.name} ${JSON.stringify(text)} ${why}`);
  };
  const numberOf = (word: string): number => {
    const index = field.words?.indexOf(word) ?? -1;
    const value = index >= 0 ? field.from + index : /^\d{1,2}$/.test(word) ? Number(word) : NaN;
    if (!(value >= field.from && value <= field.to))
      wrong(
        `is not within ${field.from} to ${field.to}${field.words ? ` or a name such as ${field.words[0]}` : ""}`,
      );
    return value;
  };
  const found = new Set<number>();
  for (const part of text.split(",")) {
    const [, range = "", step = "1"] = /^([^/]+)(?:\/(\d{1,2}))?$/.exec(part) ?? [];
    if (range === "" || Number(step) === 0) wrong("cannot be read: write it like 5, 1-5, */15 or 1,15");
    const [first = "", last, ...rest] = range === "*" ? [] : range.split("-");
    if (rest.length > 0) wrong("cannot be read: a range has two ends");
    const from = range === "*" ? field.from : numberOf(first);
    const open = range === "*" || (last === undefined && part.includes("/"));
    const to = open ? field.to : last === undefined ? from : numberOf(last);
    if (to < from) wrong(`runs backwards: write ${to}-${from}, or two ranges`);
    for (let value = from; value <= to; value += Number(step)) found.add(value);
  }
  return [...found].toSorted((a, b) => a - b);
}

/** The longest each month can be. */
const LENGTHS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

function canMatch({ days, months, weekdays, either }: Cron): boolean {
  if (either || weekdays.size < 7) return weekdays.size > 0;
  return [...months].some((month) => [...days].some((day) => day <= (LENGTHS[month - 1] ?? 0)));
}

const MINUTE = 60_000;
const DAY = 86_400_000;
/** Leap days are at most eight years apart. */
const MOST_DAYS = 9 * 366;

/** The first time after `after`, in milliseconds since the epoch. */
export function nextTime(cron: Cron, zone: string, after: number): number {
  const wall = after + offsetAt(zone, after);
  // From the day before: a time that was skipped is taken later, maybe on the next day.
  const first = Math.floor(wall / DAY) * DAY - DAY;
  for (let count = 0; count < MOST_DAYS; count++) {
    const day = first + count * DAY;
    if (!isDay(cron, new Date(day))) continue;
    const next = timesOf(cron, zone, day).find((time) => time > after);
    if (next !== undefined) return next;
  }
  throw new CronError("no time within nine years");
}

/** The last time up to `until` that is after `after`; undefined where there is none. */
export function lastTime(cron: Cron, zone: string, after: number, until: number): number | undefined {
  let last: number | undefined;
  // Who was away for longer does not ask for each of a month of minutes.
  let from = Math.max(after, until - 800 * DAY);
  for (let count = 0; ; count++) {
    const next = nextTime(cron, zone, from);
    if (next > until) return last;
    last = from = next;
    if (count > 0 && count % 2_000 === 0) from = Math.max(from, until - 2 * DAY);
  }
}

function isDay({ days, months, weekdays, either }: Cron, date: Date): boolean {
  if (!months.has(date.getUTCMonth() + 1)) return false;
  const [isDate, isWeekday] = [days.has(date.getUTCDate()), weekdays.has(date.getUTCDay())];
  return either ? isDate || isWeekday : isDate && isWeekday;
}

/** All of a local day, in order. `day` is its midnight as if it were UTC's. */
function timesOf({ minutes, hours, fixedHours }: Cron, zone: string, day: number): number[] {
  const offsets = [...new Set([offsetAt(zone, day - DAY), offsetAt(zone, day + 2 * DAY)])];
  const walls = hours.flatMap((hour) => minutes.map((minute) => day + (hour * 60 + minute) * MINUTE));
  const [usual = 0, other] = offsets;
  if (other === undefined) return walls.map((wall) => wall - usual);
  const times = walls.flatMap((wall) => {
    const real = offsets
      .map((offset) => wall - offset)
      .filter((time) => time + offsetAt(zone, time) === wall);
    if (real.length === 0) return fixedHours ? [wall - usual] : [];
    return fixedHours ? [Math.min(...real)] : real;
  });
  return [...new Set(times)].toSorted((a, b) => a - b);
}

const formats = new Map<string, Intl.DateTimeFormat>();

/** Whether this platform knows the time zone. */
export function isZone(zone: string): boolean {
  try {
    formatOf(zone);
    return true;
  } catch {
    return false;
  }
}

function formatOf(zone: string): Intl.DateTimeFormat {
  let format = formats.get(zone);
  if (format === undefined) {
    format = new Intl.DateTimeFormat("en-US", {
      timeZone: zone,
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    });
    formats.set(zone, format);
  }
  return format;
}

/** By how much clocks on the wall are ahead of UTC, in milliseconds. */
function offsetAt(zone: string, time: number): number {
  if (zone === "UTC") return 0;
  const parts: Record<string, number> = {};
  for (const { type, value } of formatOf(zone).formatToParts(time)) parts[type] = Number(value);
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
  return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(time / 1000) * 1000;
}
