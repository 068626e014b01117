/**
 * When a schedule is due: the five fields of cron in a time zone. A time that a change of the clock skips is taken as
 * much later, and one that comes twice is taken once, the first time; a schedule that names no hour runs through both.
 * What is asked for is searched for from its end on: a schedule may name every minute, and the last one be long ago.
 */
import { CronError, type Cron } from "./cron.ts";
import { clocksAround, offsetAt } from "./zone.ts";

const MINUTE = 60_000;
const DAY = 86_400_000;
/** A leap day on one day of the week, across a year such as 2100 that has none. */
const LONGEST = 41 * 366 * DAY;

/** The first time after `after`, in milliseconds since the epoch. */
export function nextTime(cron: Cron, zone: string, after: number): number {
  // From the day before: a time that was skipped is taken later, maybe on the next day.
  const first = dayOf(zone, after) - DAY;
  for (const day of daysOf(cron, first, first + LONGEST)) {
    const next = Math.min(...stretchesOf(cron, zone, day).map((one) => firstIn(cron, day, one, after)));
    if (next < Infinity) return next;
  }
  throw new CronError("NotWithinDecades", {});
}

/** The last time up to `until` that is after `after`; undefined where there is none. */
export function lastTime(cron: Cron, zone: string, after: number, until: number): number | undefined {
  for (const day of daysOf(cron, dayOf(zone, until) + DAY, dayOf(zone, after) - DAY)) {
    const last = Math.max(...stretchesOf(cron, zone, day).map((one) => lastIn(cron, day, one, until)));
    if (last > -Infinity) return last > after ? last : undefined;
  }
  return undefined;
}

/** The midnight of the local day, as if it were UTC's. */
function dayOf(zone: string, time: number): number {
  return Math.floor((time + offsetAt(zone, time)) / DAY) * DAY;
}

/** The days that it names, from `first` on up to `last`, which may lie before it. */
function* daysOf(cron: Cron, first: number, last: number): Generator<number> {
  const step = last < first ? -DAY : DAY;
  for (let day = first; step > 0 ? day <= last : day >= last; day += step) {
    const date = new Date(day);
    const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
    if (!cron.months.has(month + 1))
      day = step > 0 ? Date.UTC(year, month + 1, 1) - DAY : Date.UTC(year, month, 1);
    else if (isDay(cron, date)) yield day;
  }
}

function isDay({ days, weekdays, either }: Cron, date: Date): boolean {
  const [isDate, isWeekday] = [days.has(date.getUTCDate()), weekdays.has(date.getUTCDay())];
  return either ? isDate || isWeekday : isDate && isWeekday;
}

/** Times on the wall, from the first on and before the second, that are so far ahead of UTC. */
interface Stretch {
  readonly from: number;
  readonly to: number;
  readonly offset: number;
}

/** The parts of a local day that have one offset each. */
function stretchesOf({ fixedHours }: Cron, zone: string, day: number): Stretch[] {
  const { before, after, at } = clocksAround(zone, day);
  if (before === after) return [{ from: day, to: day + DAY, offset: before }];
  const [ends, begins] = [at + before, at + after];
  // What is skipped goes by the old clock, so much later; what comes twice does so too, and then is over.
  const both = Math.max(ends, begins);
  return [
    { from: day, to: Math.min(day + DAY, fixedHours ? both : ends), offset: before },
    { from: Math.max(day, fixedHours ? both : begins), to: day + DAY, offset: after },
  ];
}

/** Infinity where it has none. */
function firstIn({ hours, minutes }: Cron, day: number, { from, to, offset }: Stretch, after: number) {
  const least = Math.max(from, after + offset + 1) - day;
  for (const hour of hours) {
    const minute = minutes.find((one) => (hour * 60 + one) * MINUTE >= least);
    if (minute === undefined) continue;
    const wall = day + (hour * 60 + minute) * MINUTE;
    return wall < to ? wall - offset : Infinity;
  }
  return Infinity;
}

function lastIn({ hours, minutes }: Cron, day: number, { from, to, offset }: Stretch, until: number) {
  const most = Math.min(to - 1, until + offset) - day;
  for (const hour of hours.toReversed()) {
    const minute = minutes.findLast((one) => (hour * 60 + one) * MINUTE <= most);
    if (minute === undefined) continue;
    const wall = day + (hour * 60 + minute) * MINUTE;
    return wall >= from ? wall - offset : -Infinity;
  }
  return -Infinity;
}
