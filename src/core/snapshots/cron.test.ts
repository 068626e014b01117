import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { lastTime, nextTime } from "./cron-times.ts";
import { CronError, parseCron } from "./cron.ts";
import { isZone } from "./zone.ts";

/** The next `count` times, as ISO in UTC without seconds. */
function times(text: string, after: string, count = 1, zone = "UTC"): string[] {
  const cron = parseCron(text);
  const found: string[] = [];
  for (let at = Date.parse(after); found.length < count;) {
    at = nextTime(cron, zone, at);
    found.push(new Date(at).toISOString().slice(0, 16));
  }
  return found;
}

const CASES: readonly (readonly [text: string, after: string, ...next: string[]])[] = [
  ["* * * * *", "2026-01-01T00:00:00Z", "2026-01-01T00:01", "2026-01-01T00:02"],
  ["*/15 * * * *", "2026-01-01T00:07:30Z", "2026-01-01T00:15", "2026-01-01T00:30"],
  ["7/20 * * * *", "2026-01-01T00:00:00Z", "2026-01-01T00:07", "2026-01-01T00:27", "2026-01-01T00:47"],
  ["0 3 * * *", "2026-01-01T03:00:00Z", "2026-01-02T03:00"],
  ["30 6,18 * * *", "2026-01-01T07:00:00Z", "2026-01-01T18:30", "2026-01-02T06:30"],
  ["0 0 1 * *", "2026-01-31T00:00:00Z", "2026-02-01T00:00", "2026-03-01T00:00"],
  ["0 0 31 * *", "2026-01-31T00:00:00Z", "2026-03-31T00:00"],
  ["0 0 29 2 *", "2026-01-01T00:00:00Z", "2028-02-29T00:00", "2032-02-29T00:00"],
  ["0 0 29 2 */6", "2026-01-01T00:00:00Z", "2032-02-29T00:00", "2048-02-29T00:00"],
  ["0 12 * * mon-fri", "2026-01-02T12:00:00Z", "2026-01-05T12:00", "2026-01-06T12:00"],
  ["0 12 * * 7", "2026-01-01T00:00:00Z", "2026-01-04T12:00"],
  ["0 0 13 * fri", "2026-02-01T00:00:00Z", "2026-02-06T00:00", "2026-02-13T00:00", "2026-02-20T00:00"],
  ["0 0 1 JAN,Jul *", "2026-01-01T00:00:00Z", "2026-07-01T00:00", "2027-01-01T00:00"],
  ["10-20/5 4 * * *", "2026-01-01T00:00:00Z", "2026-01-01T04:10", "2026-01-01T04:15", "2026-01-01T04:20"],
  ["@hourly", "2026-01-01T00:30:00Z", "2026-01-01T01:00"],
  ["@weekly", "2026-01-01T00:00:00Z", "2026-01-04T00:00"],
  ["@yearly", "2026-01-01T00:00:00Z", "2027-01-01T00:00"],
];

for (const [text, after, ...next] of CASES)
  test(`${text} after ${after}`, () => assert.deepEqual(times(text, after, next.length), next));

describe("in a time zone", () => {
  const NY = "America/New_York";

  test("a schedule follows the clocks there through the year", () => {
    assert.deepEqual(times("0 3 * * *", "2026-01-10T00:00:00Z", 1, NY), ["2026-01-10T08:00"]);
    assert.deepEqual(times("0 3 * * *", "2026-07-10T00:00:00Z", 1, NY), ["2026-07-10T07:00"]);
    assert.deepEqual(times("15 0 * * *", "2026-01-10T00:00:00Z", 1, "Asia/Kolkata"), ["2026-01-10T18:45"]);
  });

  test("a time that is skipped in spring is taken an hour later, once", () => {
    // Clocks go from 02:00 to 03:00 on 8 March 2026.
    assert.deepEqual(times("30 2 * * *", "2026-03-07T12:00:00Z", 2, NY), [
      "2026-03-08T07:30",
      "2026-03-09T06:30",
    ]);
  });

  test("a time that comes twice in autumn is taken once", () => {
    // Clocks go from 02:00 to 01:00 on 1 November 2026.
    assert.deepEqual(times("30 1 * * *", "2026-10-31T12:00:00Z", 2, NY), [
      "2026-11-01T05:30",
      "2026-11-02T06:30",
    ]);
  });

  test("a schedule for every hour runs through both, without a gap or a repetition", () => {
    for (const after of ["2026-03-08T04:30:00Z", "2026-11-01T03:30:00Z"]) {
      const found = times("0 * * * *", after, 6, NY).map((one) => Date.parse(`${one}:00Z`));
      assert.deepEqual(
        found.slice(1).map((at, index) => at - (found[index] ?? 0)),
        Array(5).fill(3_600_000),
      );
    }
  });

  test("half an hour of change counts too, and so does a day that was left out", () => {
    // Lord Howe Island: from 02:00 to 02:30 on 4 October 2026, at UTC+10:30.
    assert.deepEqual(times("15 2 * * *", "2026-10-03T00:00:00Z", 2, "Australia/Lord_Howe"), [
      "2026-10-03T15:45",
      "2026-10-04T15:15",
    ]);
    // Samoa had no 30 December 2011.
    const [next] = times("0 12 * * *", "2011-12-29T23:00:00Z", 1, "Pacific/Apia");
    assert.equal(next, "2011-12-30T22:00");
  });

  test("every time of a year is a moment on the wall that the schedule names, but for those that were skipped", () => {
    const cron = parseCron("30 2 * * *");
    for (const zone of ["Europe/Berlin", NY, "Australia/Sydney", "UTC"]) {
      const format = new Intl.DateTimeFormat("en-GB", { timeZone: zone, hour: "2-digit", minute: "2-digit" });
      const end = Date.UTC(2027, 0, 1);
      let [count, other] = [0, 0];
      for (let at = nextTime(cron, zone, Date.UTC(2026, 0, 1)); at < end; at = nextTime(cron, zone, at)) {
        count++;
        if (format.format(at) !== "02:30") other++;
      }
      assert.deepEqual([count, other], [365, zone === "UTC" ? 0 : 1], zone);
    }
  });

  test("only zones that exist are known", () => {
    assert.ok(isZone("Europe/Berlin") && isZone("UTC"));
    assert.ok(!isZone("Europe/Atlantis"));
  });
});

describe("what cannot be read is refused with what to write", () => {
  const WRONG: Readonly<Record<string, RegExp>> = {
    "": /five: minute/,
    "0 3 * *": /has 4 fields/,
    "60 * * * *": /minute "60" is not within 0 to 59/,
    "* 24 * * *": /hour "24"/,
    "* * 0 * *": /day of the month "0"/,
    "* * * foo *": /month "foo" is not within 1 to 12 or a name such as jan/,
    "* * * * 8": /day of the week "8"/,
    "*/0 * * * *": /cannot be read/,
    "1-2-3 * * * *": /a range has two ends/,
    "30-10 * * * *": /runs backwards: write 10-30/,
    "a * * * *": /minute "a"/,
    "1,,2 * * * *": /cannot be read/,
    "0 0 30 2 *": /no month has/,
    "0 0 30 2 */2": /no month has/,
    "@reboot": /has 1 fields/,
  };
  for (const [text, expected] of Object.entries(WRONG))
    test(JSON.stringify(text), () =>
      assert.throws(
        () => parseCron(text),
        (error) => error instanceof CronError && expected.test(error.message),
      ),
    );
});

test("of many missed times the last one counts", () => {
  const at = (text: string) => Date.parse(text);
  const last = (text: string, after: string, until: string) => {
    const found = lastTime(parseCron(text), "UTC", at(after), at(until));
    return found === undefined ? undefined : new Date(found).toISOString().slice(0, 16);
  };
  assert.equal(last("0 3 * * *", "2026-01-01T03:00:00Z", "2026-01-09T12:00:00Z"), "2026-01-09T03:00");
  assert.equal(last("0 3 * * *", "2026-01-01T03:00:00Z", "2026-01-02T02:59:59Z"), undefined);
  assert.equal(last("0 3 * * *", "2026-01-01T03:00:00Z", "2026-01-02T03:00:00Z"), "2026-01-02T03:00");
  assert.equal(last("* * * * *", "2024-01-01T03:00:00Z", "2026-01-02T03:00:30Z"), "2026-01-02T03:00");
  assert.equal(last("0 0 29 2 *", "2023-01-01T00:00:00Z", "2026-01-01T00:00:00Z"), "2024-02-29T00:00");
  assert.equal(last("0 0 29 2 *", "2016-03-01T00:00:00Z", "2023-01-01T00:00:00Z"), "2020-02-29T00:00");
});

test("what was missed around a change of the clock is what would have come", () => {
  const RANGES = [
    ["Europe/Berlin", "2026-03-29"],
    ["Europe/Berlin", "2026-10-25"],
    ["Australia/Lord_Howe", "2026-04-05"],
    ["Africa/Cairo", "2026-10-30"],
  ] as const;
  for (const [zone, day] of RANGES)
    for (const text of ["*/7 * * * *", "*/10 1-3 * * *", "30 0,2,23 * * *"]) {
      const cron = parseCron(text);
      const start = Date.parse(`${day}T00:00:00Z`) - 43_200_000;
      let [at, next] = [start, nextTime(cron, zone, start)];
      for (; at < start + 86_400_000; at = next, next = nextTime(cron, zone, at))
        for (const until of [at, at + 30_000, next - 1])
          assert.equal(lastTime(cron, zone, start, until), at === start ? undefined : at, `${text} ${zone}`);
    }
});
