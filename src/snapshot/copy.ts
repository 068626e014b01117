/**
 * Copies a snapshot between stores, byte for byte: what is compressed or encrypted stays so, and no key is needed. The
 * bytes are compared with the manifest on their way, or with the hash at their end, and the manifest is written last there
 * too.
 */
import { inBlocks } from "./blocks.ts";
import { DatabaseError } from "./bolt/format.ts";
import type { Entry } from "./catalog.ts";
import { StoredBytes } from "./codec/codec.ts";
import { Inspection, SnapshotDamaged, SnapshotUnhashed } from "./inspect.ts";
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

/**
 * "there": the target holds this very snapshot already. "unverified": copied, but whether it is whole cannot be told: it
 * has no manifest, and no hash that can be read without a key.
 */
export type Copied = "copied" | "there" | "unverified";

export async function copySnapshot(options: CopyOptions): Promise<Copied> {
  const { from, entry, to, name, signal } = options;
  const manifest = entry.manifest && { ...entry.manifest, object: name.slice(name.lastIndexOf("/") + 1) };
  if (await holdsAlready(to, name, manifest && writeManifest(manifest), signal)) return "there";
  const chunks = counted(from.get(entry.name, { signal }), options);
  // Without a manifest, the hash at the end of what etcd sent is all that there is to compare with.
  const checked = manifest === undefined ? new CheckedByItself(chunks) : undefined;
  const bytes = new StoredBytes(checked ?? chunks);
  const compared = async function* (): AsyncGenerator<Uint8Array> {
    try {
      yield* bytes;
    } catch (error) {
      if (!(error instanceof SnapshotDamaged)) throw error;
      throw new SnapshotDamaged(
        `${from.uri}${entry.name} is damaged: ${error.message}. It was not copied; use another snapshot.`,
        { cause: error },
      );
    }
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
  return checked?.isVerified === false ? "unverified" : "copied";
}

/** What etcd wrote has a hash at its end; what is compressed, encrypted or a copied database file passes as it is. */
class CheckedByItself implements AsyncIterable<Uint8Array> {
  readonly #chunks: AsyncIterable<Uint8Array>;
  #isVerified = false;

  constructor(chunks: AsyncIterable<Uint8Array>) {
    this.#chunks = chunks;
  }

  get isVerified(): boolean {
    return this.#isVerified;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    let inspection: Inspection | undefined = new Inspection();
    for await (const block of inBlocks(this.#chunks)) {
      try {
        inspection?.update(block);
      } catch (error) {
        if (!(error instanceof DatabaseError)) throw error;
        // Only the first block is refused for what it is.
        inspection = undefined;
      }
      yield block;
    }
    if (inspection === undefined || inspection.size === 0) return;
    try {
      inspection.finish();
      this.#isVerified = true;
    } catch (error) {
      if (!(error instanceof SnapshotUnhashed)) throw error;
    }
  }
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
