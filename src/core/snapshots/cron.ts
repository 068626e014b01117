/** The five fields of cron as a person writes them, and what they name. cron-times.ts says when that is. */
import {
  sayCronError,
  type CronErrorCode,
  type CronErrorParams,
  type CronField,
} from "../messages/cron-errors.ts";

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

export class CronError<Code extends CronErrorCode = CronErrorCode> extends Error {
  override name = "CronError";
  readonly code: Code;

  constructor(code: Code, params: CronErrorParams<Code>) {
    super(sayCronError(code, params));
    this.code = code;
  }
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
  readonly name: CronField;
  readonly from: number;
  readonly to: number;
  /** The first one stands for `from`. */
  readonly words?: readonly string[];
}

const FIELDS = [
  { name: "minute", from: 0, to: 59 },
  { name: "hour", from: 0, to: 23 },
  { name: "day", from: 1, to: 31 },
  { name: "month", from: 1, to: 12, words: MONTHS },
  // Sunday is 0 and 7.
  { name: "weekday", from: 0, to: 7, words: WEEKDAYS },
] as const satisfies readonly Field[];

export function parseCron(text: string): Cron {
  const given = text.trim().toLowerCase();
  const parts = (MACROS[given] ?? given).split(/\s+/);
  if (parts.length !== FIELDS.length) throw new CronError("FieldCount", { text, fields: parts.length });
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
  if (!canMatch(cron)) throw new CronError("NeverDue", { text });
  return cron;
}

function valuesOf(field: Field, text: string): number[] {
  const given = { field: field.name, text };
  const numberOf = (word: string): number => {
    const index = field.words?.indexOf(word) ?? -1;
    const value = index >= 0 ? field.from + index : /^\d{1,2}$/.test(word) ? Number(word) : NaN;
    if (!(value >= field.from && value <= field.to))
      throw new CronError("NotWithin", { ...given, from: field.from, to: field.to, word: field.words?.[0] });
    return value;
  };
  const found = new Set<number>();
  for (const part of text.split(",")) {
    const [, range = "", step = "1"] = /^([^/]+)(?:\/(\d{1,2}))?$/.exec(part) ?? [];
    if (range === "" || Number(step) === 0) throw new CronError("Unreadable", given);
    const [first = "", last, ...rest] = range === "*" ? [] : range.split("-");
    if (rest.length > 0) throw new CronError("ManyEnds", given);
    const from = range === "*" ? field.from : numberOf(first);
    const open = range === "*" || (last === undefined && part.includes("/"));
    const to = open ? field.to : last === undefined ? from : numberOf(last);
    if (to < from) throw new CronError("Backwards", { ...given, from, to });
    for (let value = from; value <= to; value += Number(step)) found.add(value);
  }
  return [...found].toSorted((a, b) => a - b);
}

/** The longest each month can be. */
const LENGTHS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

function canMatch({ days, months, either }: Cron): boolean {
  // Any weekday comes on any date within 40 years, also on 29 February.
  return either || [...months].some((month) => [...days].some((day) => day <= (LENGTHS[month - 1] ?? 0)));
}
