/** Small parts of sentences: names, sizes, times. */
import type { Names } from "./message.ts";

export function list(names: Names): string {
  return names.join(", ");
}

/** `one` for one name, `many` for several. */
export function plural(names: Names, one: string, many: string): string {
  return names.length === 1 ? one : many;
}

export function mebibytes(bytes: number): string {
  return `${Math.round(bytes / 1024 ** 2)} MiB`;
}

/** For a time that is minutes away. */
export function clockTime(at: number): string {
  return `${iso(at).slice(11, 19)} UTC`;
}

/** For a time that may be days away. */
export function dateTime(at: number): string {
  return `${iso(at).slice(0, 10)} ${clockTime(at)}`;
}

/** decide() is total: a time that no calendar has is shown as the nearest that it has. */
function iso(at: number): string {
  return new Date(Math.min(Math.max(at || 0, 0), LAST_YEAR)).toISOString();
}

const LAST_YEAR = Date.UTC(9999, 11, 31);
