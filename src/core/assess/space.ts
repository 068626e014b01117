/**
 * How much of its quota a member's data and its database file fill, and from which shares on the conditions say
 * something else. One place, since a short look has to know what it may take for unchanged.
 */
import { bytesOf } from "../../api/quantity.ts";
import type { MemberFacts } from "../observation.ts";

/** Above this share of the quota data is running out of room; below the lower one it has room again. */
export const LOW_SPACE = 0.8;
export const ROOM_AGAIN = 0.7;
/** The file may be nearly full of free pages: etcd counts those too (R26). */
export const FULL_FILE = 0.95;

export interface Space {
  readonly quota: number;
  /** Bytes of data, and of the file with its free pages. */
  readonly used: number;
  readonly file: number;
}

/** Undefined of a member that does not answer. */
export function spaceOf({ answer, record }: Pick<MemberFacts, "answer" | "record">): Space | undefined {
  if (!answer.reachable) return undefined;
  const quota = answer.dbSizeQuota ?? bytesOf(record.template.options.quotaBackendBytes);
  return { quota, used: answer.dbSizeInUse, file: answer.dbSize };
}

/** None of the shares above lies between the two. */
export function sameSpace(one: Space, other: Space): boolean {
  const same = (is: (space: Space) => boolean) => is(one) === is(other);
  return (
    [LOW_SPACE, ROOM_AGAIN].every((share) => same(({ used, quota }) => used > share * quota)) &&
    same(({ file, quota }) => file > FULL_FILE * quota)
  );
}
