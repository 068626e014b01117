/**
 * The key of encrypted snapshots: 32 bytes from a file or a variable, raw, in hexadecimal or in base64. Former keys may
 * follow in further lines: what was written with them can still be read.
 */
import { createHash } from "node:crypto";

export const KEY_BYTES = 32;

export class KeyError extends Error {
  override name = "KeyError";
}

export interface EncryptionKey {
  readonly bytes: Uint8Array;
  /** Names the key and tells nothing of it. */
  readonly id: string;
  /** Only to read with. */
  readonly former?: readonly EncryptionKey[];
}

/** `where` is for messages; the content never is in one. */
export function parseKey(content: Uint8Array, where: string): EncryptionKey {
  const [key, ...former] = content.length === KEY_BYTES ? [content] : linesOf(content).map(decode);
  if (key === undefined || former.includes(undefined))
    throw new KeyError(
      `${where} does not hold an encryption key: it must be ${KEY_BYTES} bytes, raw, in hexadecimal or in base64, and former keys in lines below it. Make one with: openssl rand -hex ${KEY_BYTES}`,
    );
  const earlier = former.flatMap((bytes) => (bytes ? [named(bytes)] : []));
  return { ...named(key), ...(earlier.length > 0 && { former: earlier }) };
}

const named = (bytes: Uint8Array) => ({ bytes, id: keyId(bytes) });

function linesOf(content: Uint8Array): string[] {
  return Buffer.from(content)
    .toString("latin1")
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

function decode(text: string): Uint8Array | undefined {
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, "hex");
  if (/^[A-Za-z0-9+/_-]{43}=?$/.test(text)) {
    const bytes = Buffer.from(text, "base64");
    if (bytes.length === KEY_BYTES) return bytes;
  }
  return undefined;
}

function keyId(bytes: Uint8Array): string {
  return createHash("sha256").update("quorate snapshot key id").update(bytes).digest("hex").slice(0, 16);
}
