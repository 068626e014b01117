/**
 * Member and cluster IDs are unsigned 64-bit numbers: `bigint` in code, and lower-case hexadecimal
 * without leading zeros wherever a person or a file sees them, as `etcdctl` and etcd's log print them.
 */

export function formatId(id: bigint): string {
  return BigInt.asUintN(64, id).toString(16);
}

/** Reads what `formatId` wrote. Refuses anything else, since a wrong ID removes the wrong member. */
export function parseId(text: string): bigint {
  if (!/^[0-9a-f]{1,16}$/i.test(text))
    throw new RangeError(
      `"${text}" is not a member ID: expected 1 to 16 hexadecimal digits, as in 8e9e05c52164694d`,
    );
  return BigInt(`0x${text}`);
}
