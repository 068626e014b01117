/**
 * Reads a snapshot out of a store: decrypted, decompressed, and checked against the hash at its end and against its
 * manifest. Whoever reads to the end without an error has a whole, plain etcd snapshot. A backup of etcd-cloud-operator,
 * which has no hash, is given the one that etcd would have put there.
 */
import { decode, StoredBytes } from "./codec/codec.ts";
import { KeyError, type EncryptionKey } from "./codec/key.ts";
import { ecoName, HashedDatabase } from "./eco.ts";
import { InspectedSnapshot, SnapshotDamaged, type SnapshotFacts } from "./inspect.ts";
import type { Manifest } from "./manifest.ts";
import type { Store } from "./store/store.ts";

export interface Decryption {
  readonly key?: EncryptionKey | undefined;
  /** It has to be encrypted, whatever its manifest says. */
  readonly encrypted?: boolean;
}

export interface ReadOptions extends Decryption {
  readonly store: Store;
  readonly name: string;
  readonly manifest?: Manifest | undefined;
  readonly signal: AbortSignal;
  readonly progress?: (done: number) => void;
}

export class SnapshotReader implements AsyncIterable<Uint8Array> {
  readonly #options: ReadOptions;
  #facts: SnapshotFacts | undefined;
  #objectSha256: string | undefined;

  constructor(options: ReadOptions) {
    this.#options = options;
  }

  /** After the last block. */
  get facts(): SnapshotFacts | undefined {
    return this.#facts;
  }

  /** The SHA-256 of the object, where that is not the one in the facts because a hash was added to it. */
  get objectSha256(): string | undefined {
    return this.#objectSha256;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    const { store, name, manifest, key, signal, progress } = this.#options;
    const chunks = store.get(name, { signal });
    // The hash of a plain object is that of the snapshot, which is checked anyway.
    const stored =
      manifest && manifest.stored.sha256 !== manifest.sha256 ? new StoredBytes(chunks) : undefined;
    const plain = decode(stored ?? chunks, key, ifPlain(this.#options));
    const hashed = hasNoHash(this.#options) ? new HashedDatabase(plain) : undefined;
    const inspected = new InspectedSnapshot(hashed ?? plain, progress);
    try {
      let size = 0;
      for await (const block of inspected) {
        size += block.length;
        if (manifest !== undefined && size > manifest.size)
          throw new SnapshotDamaged(`it is longer than the ${manifest.size} bytes that its manifest says`);
        yield block;
      }
      if (inspected.facts === undefined) throw new SnapshotDamaged("it is empty");
      if (manifest !== undefined) compare(inspected.facts, manifest);
      if (stored !== undefined && stored.finish().sha256 !== manifest?.stored.sha256)
        throw new SnapshotDamaged("the SHA-256 of the object is not the one in its manifest");
    } catch (error) {
      if (!(error instanceof SnapshotDamaged)) throw error;
      const message = `${store.uri}${name} is damaged: ${error.message}. Use another snapshot.`;
      throw new SnapshotDamaged(message, { cause: error });
    }
    this.#objectSha256 = hashed?.sha256;
    this.#facts = inspected.facts;
  }
}

/** It is a copied database by the name that etcd-cloud-operator gave it. */
export function hasNoHash({ name, manifest }: Pick<ReadOptions, "name" | "manifest">): boolean {
  return manifest === undefined && ecoName(name) !== undefined;
}

function ifPlain({ store, name, manifest, encrypted }: ReadOptions): Error | undefined {
  if (manifest?.encryption !== undefined)
    return new SnapshotDamaged("it is not encrypted, and its manifest says that it is");
  return encrypted
    ? new KeyError(
        `${store.uri}${name} is not encrypted, and a key was given: another one may have been replaced by it. If it was saved without --encrypt, read it without --encryption-key-file`,
      )
    : undefined;
}

function compare({ size, sha256, database }: SnapshotFacts, manifest: Manifest): void {
  const pairs: readonly (readonly [string, unknown, unknown])[] = [
    ["size", size, manifest.size],
    ["SHA-256", sha256, manifest.sha256],
    ["revision", database.revision, manifest.revision],
    ["number of keys", database.totalKeys, manifest.totalKeys ?? database.totalKeys],
    ["number of entries", database.totalEntries, manifest.totalEntries],
  ];
  for (const [what, found, recorded] of pairs)
    if (found !== recorded)
      throw new SnapshotDamaged(`its ${what} is ${String(found)}, and its manifest says ${String(recorded)}`);
}

/** Reads it to its end and keeps nothing. */
export async function checkSnapshot(options: ReadOptions): Promise<SnapshotFacts> {
  const reader = new SnapshotReader(options);
  for await (const _ of reader);
  if (reader.facts === undefined) throw new SnapshotDamaged("it is empty");
  return reader.facts;
}
