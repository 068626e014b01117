/**
 * Durations as Go and Kubernetes write them ("100ms", "1h30m"): parse to milliseconds and format
 * back. Pure functions without a schema.
 */

const UNITS: Record<string, number> = { h: 3_600_000, m: 60_000, s: 1000, ms: 1 };

/** Also the CEL side of the rule: RE2 and JavaScript read it alike. */
export const DURATION_PATTERN = "^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$";

const SHAPE = new RegExp(DURATION_PATTERN);
const PART = /([0-9]+(?:\.[0-9]+)?)(ms|s|m|h)/g;

/** Milliseconds, or undefined when it is not a duration. Negative durations do not exist here. */
export function parseDuration(text: string): number | undefined {
  if (!SHAPE.test(text)) return undefined;
  let total = 0;
  for (const [, digits, unit] of text.matchAll(PART)) total += Number(digits) * (UNITS[unit ?? ""] ?? 0);
  return total;
}

/** The few that specs have, which every decision reads again. */
const known = new Map<string, number>();
const MOST_KNOWN = 1_000;

/** Milliseconds. Throws on a value that validation would have refused. */
export function millisecondsOf(text: string): number {
  const before = known.get(text);
  if (before !== undefined) return before;
  const value = parseDuration(text);
  if (value === undefined)
    throw new RangeError(`"${text}" is not a duration; write it like 100ms, 30s or 1h30m`);
  if (known.size >= MOST_KNOWN) known.clear();
  known.set(text, value);
  return value;
}

/** The usual form: 90 000 → "1m30s", 100 → "100ms". Whole milliseconds only. */
export function formatDuration(milliseconds: number): string {
  if (!Number.isSafeInteger(milliseconds) || milliseconds < 0) {
    throw new RangeError(`${milliseconds} is not a whole, non-negative number of milliseconds`);
  }
  let rest = milliseconds;
  let text = "";
  for (const [unit, size] of Object.entries(UNITS)) {
    const count = Math.floor(rest / size);
    if (count > 0) text += `${count}${unit}`;
    rest -= count * size;
  }
  return text === "" ? "0s" : text;
}
