/** What permissions cover: etcd joins all ranges of a user's roles before it looks for the one that was asked for. */

export interface Range {
  readonly key: string;
  readonly end: string;
}

const [READ, WRITE, READWRITE] = [0, 1, 2];
/** As etcd writes a range without an end. */
const OPEN = "00";

/** From `from` until before `to`, in hexadecimal, whose order is that of the bytes; undefined: without an end. */
interface Interval {
  readonly from: string;
  readonly to: string | undefined;
}

/** A key alone ends before the next one that there could be. */
function intervalOf({ key, end }: Range): Interval {
  if (end === OPEN) return { from: key, to: undefined };
  return { from: key, to: end === "" ? `${key}00` : end };
}

export function rangeKey({ key, end }: Range): string {
  return `${key} ${end}`;
}

/** A range as `rangeKey` has it, and the type. */
export type RangePermission = readonly [range: string, type: number];

/**
 * What a role has after a grant. etcd looks only at the first permission of this key: where that one is for another range,
 * one for the same range stays beside the new one, and both count.
 */
export function granted(have: readonly RangePermission[], range: Range, type: number): RangePermission[] {
  const keyOf = ([text]: RangePermission) => text.split(" ")[0] ?? "";
  const first = have.findIndex((one) => keyOf(one) === range.key);
  if (have[first]?.[0] === rangeKey(range)) return have.with(first, [rangeKey(range), type]);
  const all: RangePermission[] = [...have, [rangeKey(range), type]];
  return all.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : keyOf(a) > keyOf(b) ? 1 : 0));
}

/** `permissions`: of all roles of a user. */
export function isCovered(asked: Range, write: boolean, permissions: readonly RangePermission[]): boolean {
  const given = permissions
    .filter(([, type]) => type === READWRITE || type === (write ? WRITE : READ))
    .map(([range]) => {
      const [key = "", end = ""] = range.split(" ");
      return intervalOf({ key, end });
    })
    .toSorted((a, b) => (a.from < b.from ? -1 : 1));
  const { from, to } = intervalOf(asked);
  let covered = from;
  for (const interval of given) {
    if (interval.from > covered) return false;
    if (interval.to === undefined) return true;
    if (interval.to > covered) covered = interval.to;
    if (to !== undefined && covered >= to) return true;
  }
  return false;
}
