/**
 * The objects of one snapshot, by the ID that it was taken with: every attempt writes an object of its own whose name
 * begins with the ID, so that attempts never meet, and whoever comes later finds the one that was finished.
 */
import { listSnapshots, type Entry } from "./catalog.ts";
import { isStoreError, type Store } from "./store/store.ts";

/** Directly in the folder: complete ones, and what interrupted attempts left. */
export async function findOwn(store: Store, id: string, signal: AbortSignal): Promise<Entry[]> {
  const prefix = `${id}-`;
  const entries = await listSnapshots(store, prefix, signal).catch(noneWithoutAPlace);
  return entries.filter(({ name }) => isOwn(name, id));
}

/** Whether an object, or its manifest, was written with this ID. */
export function isOwn(name: string, id: string): boolean {
  const prefix = `${id}-`;
  return name.startsWith(prefix) && OWN_REST.test(name.slice(prefix.length));
}

/** A folder is made with its first object; where a bucket is missing, the first write says so. */
function noneWithoutAPlace(error: unknown): Entry[] {
  if (isStoreError(error, "no-place")) return [];
  throw error;
}

/** `20261116T234756Z-fb81.db`, with what codecs add: so that no other ID that begins alike is meant. */
const OWN_REST = /^\d{8}T\d{6}Z-[0-9a-f]{4}\.[a-z.]+$/;
