/** What is wrong with the five fields of a schedule. The name of the field of the spec goes before it. */

const FIELDS = {
  minute: "minute",
  hour: "hour",
  day: "day of the month",
  month: "month",
  weekday: "day of the week",
} as const;

/** One of the five, as a person gave it. */
interface Given {
  readonly field: keyof typeof FIELDS;
  readonly text: string;
}

const say = ({ field, text }: Given, what: string) => `the ${FIELDS[field]} ${JSON.stringify(text)} ${what}`;
const MINUTE: Given = { field: "minute", text: "61" };

interface Row<P> {
  readonly say: (params: P) => string;
  readonly example: NoInfer<P>;
}
const row = <P extends object>(of: Row<P>): Row<P> => of;

export const CRON_ERRORS = {
  FieldCount: row({
    say: ({ text, fields }: { text: string; fields: number }) =>
      `"${text}" has ${fields} fields, and a schedule has five: ${Object.values(FIELDS).join(", ")}, such as 0 3 * * *`,
    example: { text: "0 3 * *", fields: 4 },
  }),
  NeverDue: row({
    say: ({ text }: { text: string }) => `"${text}" names a day that no month has, so it would never run`,
    example: { text: "0 0 31 2 *" },
  }),
  NotWithin: row({
    say: ({ from, to, word, ...given }: Given & { from: number; to: number; word: string | undefined }) =>
      say(given, `is not within ${from} to ${to}${word === undefined ? "" : ` or a name such as ${word}`}`),
    example: { ...MINUTE, from: 0, to: 59, word: undefined },
  }),
  Unreadable: row({
    say: (given: Given) => say(given, "cannot be read: write it like 5, 1-5, */15 or 1,15"),
    example: MINUTE,
  }),
  ManyEnds: row({
    say: (given: Given) => say(given, "cannot be read: a range has two ends"),
    example: { field: "hour", text: "1-2-3" },
  }),
  Backwards: row({
    say: ({ from, to, ...given }: Given & { from: number; to: number }) =>
      say(given, `runs backwards: write ${to}-${from}, or two ranges`),
    example: { field: "hour", text: "5-1", from: 5, to: 1 },
  }),
  NotWithinDecades: row({ say: () => "no time within forty years", example: {} }),
} as const;

export type CronField = keyof typeof FIELDS;
export type CronErrorCode = keyof typeof CRON_ERRORS;
export type CronErrorParams<Code extends CronErrorCode> = (typeof CRON_ERRORS)[Code]["example"];

export function sayCronError<Code extends CronErrorCode>(code: Code, params: CronErrorParams<Code>): string {
  return (CRON_ERRORS[code] as Row<CronErrorParams<Code>>).say(params);
}
