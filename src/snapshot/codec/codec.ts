/** From a plain snapshot to the bytes of its object and back: compressed first, encrypted last, or neither. */
import { createHash } from "node:crypto";
import { constants, createZstdCompress, createZstdDecompress } from "node:zlib";
import type { Random } from "../../seams/random.ts";
import { SnapshotDamaged } from "../inspect.ts";
import { decrypt, DecryptionError, encrypt, ENCRYPTED_MAGIC } from "./encrypt.ts";
import type { EncryptionKey } from "./key.ts";
import { through } from "./through.ts";

export type Compression = "none" | "zstd";

export interface Encoding {
  readonly compression: Compression;
  readonly key?: EncryptionKey | undefined;
}

const ZSTD_MAGIC = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);
/** Values in etcd compress well at the fastest levels; a snapshot must not become a matter of the processor. */
const ZSTD_LEVEL = 1;

/** What the object's name ends with. */
export function extension({ compression, key }: Encoding): string {
  return `.db${compression === "zstd" ? ".zst" : ""}${key === undefined ? "" : ".enc"}`;
}

export function encode(
  plain: AsyncIterable<Uint8Array>,
  { compression, key }: Encoding,
  random: Random,
): AsyncIterable<Uint8Array> {
  const params = { [constants.ZSTD_c_compressionLevel]: ZSTD_LEVEL, [constants.ZSTD_c_checksumFlag]: 1 };
  const compressed = compression === "zstd" ? through(plain, createZstdCompress({ params })) : plain;
  return key === undefined ? compressed : encrypt(compressed, key, random);
}

/**
 * The plain snapshot in an object. What was done to it is read from its first bytes, except where it has to be
 * encrypted: whoever can write to the store could put a plain one in its place. Then `ifPlain` is thrown.
 */
export async function* decode(
  stored: AsyncIterable<Uint8Array>,
  key: EncryptionKey | undefined,
  ifPlain?: Error,
): AsyncGenerator<Uint8Array> {
  try {
    yield* layer(
      stored,
      ENCRYPTED_MAGIC,
      (rest) => layer(decrypt(rest, key), ZSTD_MAGIC, decompress),
      (rest) => {
        if (ifPlain !== undefined) throw ifPlain;
        return layer(rest, ZSTD_MAGIC, decompress);
      },
    );
  } catch (error) {
    if (error instanceof DecryptionError) throw new SnapshotDamaged(error.message, { cause: error });
    throw error;
  }
}

async function* decompress(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* through(chunks, createZstdDecompress());
  } catch (error) {
    const code = (error as NodeJS.ErrnoException | undefined)?.code;
    if (code?.startsWith("ZSTD_") || code === "Z_BUF_ERROR")
      throw new SnapshotDamaged(`it does not decompress (${code}): it is cut off or damaged`, {
        cause: error,
      });
    throw error;
  }
}

type Layer = (chunks: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>;

/** Looks at the first bytes and takes one way or the other with all of them. */
async function* layer(
  chunks: AsyncIterable<Uint8Array>,
  magic: Buffer,
  match: Layer,
  otherwise: Layer = (rest) => rest,
): AsyncGenerator<Uint8Array> {
  const iterator = chunks[Symbol.asyncIterator]();
  let ended = false;
  let first = Buffer.alloc(0);
  const rest = async function* (): AsyncGenerator<Uint8Array> {
    yield first;
    for (;;) {
      const next = await iterator.next();
      if (next.done === true) {
        ended = true;
        return;
      }
      yield next.value;
    }
  };
  try {
    while (first.length < magic.length && !ended) {
      const next = await iterator.next();
      if (next.done === true) ended = true;
      else first = Buffer.concat([first, next.value]);
    }
    const matches = first.subarray(0, magic.length).equals(magic);
    yield* (matches ? match : otherwise)(ended ? justOne(first) : rest());
  } finally {
    if (!ended) await iterator.return?.();
  }
}

async function* justOne(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(bytes);
}

/** Counts and hashes the bytes of an object on their way into the store. */
export class StoredBytes implements AsyncIterable<Uint8Array> {
  readonly #chunks: AsyncIterable<Uint8Array>;
  readonly #hash = createHash("sha256");
  #size = 0;

  constructor(chunks: AsyncIterable<Uint8Array>) {
    this.#chunks = chunks;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    for await (const chunk of this.#chunks) {
      this.#hash.update(chunk);
      this.#size += chunk.length;
      yield chunk;
    }
  }

  /** After the last chunk, once. */
  finish(): { size: number; sha256: string } {
    return { size: this.#size, sha256: this.#hash.digest("hex") };
  }
}
