/** Small parts of sentences: names, sizes, times. */
import type { Names } from "./names.ts";

export function list(names: Names): string {
  return names.join(", ");
}

/** With its full stop: fragments have none, and what ends with the words of somebody else may have one. */
export function stopped(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

/** One sentence after the other. */
export function sentences(...parts: readonly string[]): string {
  return parts.map(stopped).join(" ");
}

/** `one` for one name, `many` for several. */
export function plural(names: Names, one: string, many: string): string {
  return names.length === 1 ? one : many;
}

/** Rounded up, so that what is above a limit is not shown as equal to it. */
export function mebibytes(bytes: number): string {
  return bytes < 1024 ** 2 ? `${Math.ceil(bytes / 1024)} KiB` : `${Math.ceil(bytes / 1024 ** 2)} MiB`;
}

/** In tenths, so that a status does not change with every block; nothing where the whole is not known. */
export function share({
  done,
  of,
}: {
  readonly done: number;
  readonly of?: number | undefined;
}): string | undefined {
  return of ? `${Math.min(10, Math.floor((10 * done) / of)) * 10} %` : undefined;
}

/** With one significant digit: 10,000 for 12300. */
export function roughly(number: number): string {
  return new Intl.NumberFormat("en-US", { maximumSignificantDigits: 1 }).format(number);
}

/** For a time that is minutes away. */
export function clockTime(at: number): string {
  return `${iso(at).slice(11, 19)} UTC`;
}

/** For a time that nobody needs to the second: the next whole minute. */
export function clockMinute(at: number): string {
  return `${iso(Math.ceil(at / MINUTE_MS) * MINUTE_MS).slice(11, 16)} UTC`;
}

/** For a time that may be days away. */
export function dateTime(at: number): string {
  return `${iso(at).slice(0, 10)} ${clockTime(at)}`;
}

/** decide() is total: a time that no calendar has is shown as the nearest that it has. */
function iso(at: number): string {
  return new Date(Math.min(Math.max(at || 0, 0), LAST_YEAR)).toISOString();
}

const MINUTE_MS = 60_000;
const LAST_YEAR = Date.UTC(9999, 11, 31);
