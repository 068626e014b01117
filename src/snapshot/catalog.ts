/**
 * What a store holds: objects paired with their manifests. A listing may be out of date, so what matters is asked for
 * again, by name, before anything is believed or deleted.
 */
import { parseLogName } from "./changes/names.ts";
import { MANIFEST_SUFFIX, ManifestError, manifestName, parseManifest, type Manifest } from "./manifest.ts";
import { isStoreError, readText, type Store, type StoredObject } from "./store/store.ts";

/**
 * complete: object and manifest fit each other. plain: no manifest, as etcdctl writes it. damaged: the object's size
 * is not the manifest's, or the manifest cannot be read. orphan: a manifest whose object is gone.
 */
export type EntryState = "complete" | "plain" | "damaged" | "orphan";

export interface Entry {
  /** The object's name in the store. */
  readonly name: string;
  readonly state: EntryState;
  readonly size: number;
  /** When the snapshot was begun, or when a plain file was written. */
  readonly at: Date;
  readonly manifest?: Manifest;
  /** Why it is damaged. */
  readonly problem?: string;
}

/** Manifests read at a time. */
const PARALLEL = 8;

/** All snapshots whose names begin so, oldest first. */
export async function listSnapshots(store: Store, prefix: string, signal: AbortSignal): Promise<Entry[]> {
  const objects = new Map<string, StoredObject>();
  for await (const object of store.list(prefix, signal))
    if (parseLogName(object.name) === undefined) objects.set(object.name, object);
  const names = new Set(
    [...objects.keys()].map((name) =>
      name.endsWith(MANIFEST_SUFFIX) ? name.slice(0, -MANIFEST_SUFFIX.length) : name,
    ),
  );
  const waiting = [...names];
  const entries: Entry[] = [];
  const work = async () => {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
      const known = { object: objects.get(name), manifest: objects.get(manifestName(name)) };
      const entry = await readEntry(store, name, known, signal);
      if (entry !== undefined) entries.push(entry);
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, work));
  return entries.toSorted((a, b) => a.at.getTime() - b.at.getTime() || (a.name < b.name ? -1 : 1));
}

/** One snapshot by name; undefined when there is neither object nor manifest. */
export async function findSnapshot(
  store: Store,
  name: string,
  signal: AbortSignal,
): Promise<Entry | undefined> {
  const [object, manifest] = await Promise.all([
    store.head(name, signal),
    store.head(manifestName(name), signal),
  ]);
  return await readEntry(store, name, { object, manifest }, signal);
}

async function readEntry(
  store: Store,
  name: string,
  known: { readonly object: StoredObject | undefined; readonly manifest: StoredObject | undefined },
  signal: AbortSignal,
): Promise<Entry | undefined> {
  // A listing that shows one of the two may be older than the other.
  const object = known.object ?? (await store.head(name, signal));
  const read = known.manifest === undefined ? undefined : await readManifest(store, name, signal);
  if (read === undefined) return object && { name, state: "plain", size: object.size, at: object.modifiedAt };
  if (typeof read === "string")
    return {
      name,
      state: object ? "damaged" : "orphan",
      size: object?.size ?? 0,
      at: known.manifest?.modifiedAt ?? new Date(0),
      problem: read,
    };
  const base = { name, at: new Date(read.startedAt), manifest: read };
  if (object === undefined)
    return { ...base, state: "orphan", size: 0, problem: "the object of this manifest is gone" };
  if (read.object !== name.slice(name.lastIndexOf("/") + 1))
    return {
      ...base,
      state: "damaged",
      size: object.size,
      problem: `its manifest is that of ${read.object}`,
    };
  if (object.size !== read.stored.size) {
    const problem = `the object has ${object.size} bytes, and its manifest says ${read.stored.size}`;
    return { ...base, state: "damaged", size: object.size, problem };
  }
  return { ...base, state: "complete", size: object.size };
}

/** A text says why it cannot be read; undefined means that it is gone. */
async function readManifest(
  store: Store,
  name: string,
  signal: AbortSignal,
): Promise<Manifest | string | undefined> {
  try {
    return parseManifest(
      await readText(store, manifestName(name), signal),
      `${store.uri}${manifestName(name)}`,
    );
  } catch (error) {
    if (isStoreError(error, "not-found")) return undefined;
    if (error instanceof ManifestError || isStoreError(error, "invalid")) return error.message;
    throw error;
  }
}
