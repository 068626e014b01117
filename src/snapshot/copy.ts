/**
 * Copies a snapshot between stores, byte for byte: what is compressed or encrypted stays so, and no key is needed. The
 * bytes are compared with the manifest on their way, and the manifest is written last there too.
 */
import type { Entry } from "./catalog.ts";
import { StoredBytes } from "./codec/codec.ts";
import { SnapshotDamaged } from "./inspect.ts";
import { manifestName, writeManifest } from "./manifest.ts";
import { isStoreError, once, readText, type Store } from "./store/store.ts";

export interface CopyOptions {
  readonly from: Store;
  readonly entry: Entry;
  readonly to: Store;
  readonly name: string;
  readonly signal: AbortSignal;
  readonly progress?: (done: number) => void;
}

/** "there": the target holds this very snapshot already. */
export async function copySnapshot(options: CopyOptions): Promise<"copied" | "there"> {
  const { from, entry, to, name, signal } = options;
  const manifest = entry.manifest && { ...entry.manifest, object: name.slice(name.lastIndexOf("/") + 1) };
  if (await holdsAlready(to, name, manifest && writeManifest(manifest), signal)) return "there";
  const bytes = new StoredBytes(counted(from.get(entry.name, { signal }), options));
  const compared = async function* (): AsyncGenerator<Uint8Array> {
    yield* bytes;
    const { size, sha256 } = bytes.finish();
    const expected = entry.manifest?.stored ?? { size: entry.size, sha256 };
    // Thrown before the store makes the object appear.
    if (size !== expected.size || sha256 !== expected.sha256)
      throw new SnapshotDamaged(
        `${from.uri}${entry.name} is damaged: ${size} bytes with SHA-256 ${sha256} were read, and ${expected.size} bytes with ${expected.sha256} were written. It was not copied; use another snapshot.`,
      );
  };
  await to.put(name, compared(), { signal, ifAbsent: true });
  if (manifest !== undefined)
    await to.put(manifestName(name), once(writeManifest(manifest)), { signal, ifAbsent: true });
  return "copied";
}

async function* counted(
  chunks: AsyncIterable<Uint8Array>,
  { progress }: CopyOptions,
): AsyncGenerator<Uint8Array> {
  let done = 0;
  for await (const chunk of chunks) {
    yield chunk;
    done += chunk.length;
    progress?.(done);
  }
}

async function holdsAlready(
  to: Store,
  name: string,
  manifest: string | undefined,
  signal: AbortSignal,
): Promise<boolean> {
  if (manifest === undefined) return false;
  try {
    return (
      (await readText(to, manifestName(name), signal)) === manifest &&
      (await to.head(name, signal)) !== undefined
    );
  } catch (error) {
    if (isStoreError(error, "not-found", "invalid")) return false;
    throw error;
  }
}
