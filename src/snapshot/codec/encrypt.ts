/**
 * Encryption on our side: AES-256-GCM in chunks, so that a stream of any length is checked as it is read. Each object
 * has a key of its own (HKDF over a random salt); a chunk's nonce is its number and whether it is the last, so chunks
 * cannot be left out, repeated, put in another order, or cut off at the end without notice.
 *
 *   magic (8) | chunk size (4, big-endian) | key ID (8) | salt (32), then for each chunk: ciphertext | tag (16)
 */
import { createCipheriv, createDecipheriv, hkdfSync } from "node:crypto";
import type { Random } from "../../seams/random.ts";
import { KEY_BYTES, KeyError, type EncryptionKey } from "./key.ts";

export const ENCRYPTED_MAGIC = Buffer.from("QUORATE\u0001", "latin1");
export const CHUNK_BYTES = 1024 * 1024;
const SALT_BYTES = 32;
const KEY_ID_BYTES = 8;
const HEADER_BYTES = 8 + 4 + KEY_ID_BYTES + SALT_BYTES;
const TAG_BYTES = 16;
const LARGEST_CHUNK = 64 * 1024 * 1024;

export class DecryptionError extends Error {
  override name = "DecryptionError";
}

export async function* encrypt(
  chunks: AsyncIterable<Uint8Array>,
  key: EncryptionKey,
  random: Random,
): AsyncGenerator<Uint8Array> {
  const salt = random.bytes(SALT_BYTES);
  const size = Buffer.alloc(4);
  size.writeUInt32BE(CHUNK_BYTES);
  const header = Buffer.concat([ENCRYPTED_MAGIC, size, Buffer.from(key.id, "hex"), salt]);
  const own = objectKey(key, salt);
  yield header;
  let number = 0;
  // One chunk is held back, since the last is marked as such.
  for await (const { bytes, last } of cut(chunks, CHUNK_BYTES)) {
    const cipher = createCipheriv("aes-256-gcm", own, nonce(number++, last));
    cipher.setAAD(header);
    const sealed = cipher.update(bytes);
    cipher.final();
    yield Buffer.concat([sealed, cipher.getAuthTag()]);
  }
}

export async function* decrypt(
  chunks: AsyncIterable<Uint8Array>,
  key: EncryptionKey | undefined,
): AsyncGenerator<Uint8Array> {
  const source = new Reader(chunks);
  try {
    const header = await source.take(HEADER_BYTES);
    if (header === undefined || !header.subarray(0, 8).equals(ENCRYPTED_MAGIC))
      throw new DecryptionError("it does not begin like an encrypted snapshot, or is cut off");
    const chunkBytes = header.readUInt32BE(8);
    if (chunkBytes === 0 || chunkBytes > LARGEST_CHUNK)
      throw new DecryptionError(`it claims chunks of ${chunkBytes} bytes: its first bytes are damaged`);
    const id = header.subarray(12, 12 + KEY_ID_BYTES).toString("hex");
    if (key === undefined)
      throw new KeyError(`it is encrypted with key ${id}: pass that key with --encryption-key-file`);
    const written = [key, ...(key.former ?? [])].find((one) => one.id === id);
    if (written === undefined)
      throw new KeyError(
        `it is encrypted with key ${id}, and the key given is ${key.id}: pass the other one`,
      );
    const own = objectKey(written, header.subarray(12 + KEY_ID_BYTES));
    for (let number = 0, last = false; !last; number++) {
      const sealed = await source.take(chunkBytes + TAG_BYTES, true);
      if (sealed === undefined || sealed.length < TAG_BYTES)
        throw new DecryptionError("it is cut off: the end of its last chunk is missing");
      last = await source.atEnd();
      yield open(sealed, own, header, number, last);
    }
  } finally {
    await source.close();
  }
}

function open(sealed: Buffer, own: Buffer, header: Buffer, number: number, last: boolean): Uint8Array {
  const decipher = createDecipheriv("aes-256-gcm", own, nonce(number, last));
  decipher.setAAD(header);
  decipher.setAuthTag(sealed.subarray(sealed.length - TAG_BYTES));
  const plain = decipher.update(sealed.subarray(0, sealed.length - TAG_BYTES));
  try {
    decipher.final();
  } catch (error) {
    throw new DecryptionError(
      last
        ? `its last chunk (number ${number + 1}) does not decrypt: it is cut off or damaged`
        : `chunk ${number + 1} does not decrypt: it is damaged or out of order`,
      { cause: error },
    );
  }
  return plain;
}

function objectKey(key: EncryptionKey, salt: Uint8Array): Buffer {
  return Buffer.from(hkdfSync("sha256", key.bytes, salt, "quorate snapshot v1", KEY_BYTES));
}

function nonce(number: number, last: boolean): Buffer {
  const bytes = Buffer.alloc(12);
  bytes[0] = last ? 1 : 0;
  bytes.writeBigUInt64BE(BigInt(number), 4);
  return bytes;
}

/** Pieces of one size, copied; the last may be shorter, and is there even when nothing came. */
async function* cut(
  chunks: AsyncIterable<Uint8Array>,
  size: number,
): AsyncGenerator<{ bytes: Buffer; last: boolean }> {
  const source = new Reader(chunks);
  try {
    for (let last = false; !last;) {
      const bytes = (await source.take(size, true)) ?? Buffer.alloc(0);
      last = await source.atEnd();
      yield { bytes, last };
    }
  } finally {
    await source.close();
  }
}

/** Reads a stream by lengths. */
class Reader {
  readonly #iterator: AsyncIterator<Uint8Array>;
  #rest: Uint8Array = new Uint8Array(0);
  #done = false;

  constructor(chunks: AsyncIterable<Uint8Array>) {
    this.#iterator = chunks[Symbol.asyncIterator]();
  }

  /** The next `length` bytes; undefined when there are fewer, unless `short` will do. */
  async take(length: number, short = false): Promise<Buffer | undefined> {
    const bytes = Buffer.allocUnsafeSlow(length);
    let filled = 0;
    while (filled < length && (await this.#some())) {
      const part = this.#rest.subarray(0, length - filled);
      bytes.set(part, filled);
      filled += part.length;
      this.#rest = this.#rest.subarray(part.length);
    }
    if (filled === length) return bytes;
    return short && filled > 0 ? bytes.subarray(0, filled) : undefined;
  }

  async atEnd(): Promise<boolean> {
    return !(await this.#some());
  }

  async close(): Promise<void> {
    if (!this.#done) await this.#iterator.return?.();
  }

  async #some(): Promise<boolean> {
    while (this.#rest.length === 0 && !this.#done) {
      const next = await this.#iterator.next();
      if (next.done === true) this.#done = true;
      else this.#rest = next.value;
    }
    return this.#rest.length > 0;
  }
}
