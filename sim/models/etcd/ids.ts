/**
 * etcd's IDs (R5): founders' are made of their peer URLs and the cluster's token, so the same list gives
 * the same IDs; those of members added later also of the time, in whole seconds.
 */
import { createHash } from "node:crypto";

function first8(data: string | Uint8Array): string {
  return createHash("sha1").update(data).digest("hex").slice(0, 16);
}

const known = new Map<string, string>();

/** etcd prints IDs without leading zeros. */
function printed(hex: string): string {
  return hex.replace(/^0+(?=.)/, "");
}

export function memberIdOf(peerURLs: readonly string[], token: string, seconds?: number): string {
  const text = `${peerURLs.toSorted().join("")}${token}${seconds ?? ""}`;
  let id = known.get(text);
  if (id === undefined) {
    id = printed(first8(text));
    known.set(text, id);
  }
  return id;
}

export function clusterIdOf(memberIDs: readonly string[]): string {
  const numbers = memberIDs.map((id) => BigInt(`0x${id}`)).toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  const bytes = Buffer.alloc(8 * numbers.length);
  numbers.forEach((number, i) => bytes.writeBigUInt64BE(number, 8 * i));
  return printed(first8(bytes));
}
