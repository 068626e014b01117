/** The key of encrypted snapshots: 32 bytes from a file or a variable, raw, in hexadecimal or in base64. */
import { createHash } from "node:crypto";

export const KEY_BYTES = 32;

export class KeyError extends Error {
  override name = "KeyError";
}

export interface EncryptionKey {
  readonly bytes: Uint8Array;
  /** Names the key and tells nothing of it. */
  readonly id: string;
}

/** `where` is for messages; the content never is in one. */
export function parseKey(content: Uint8Array, where: string): EncryptionKey {
  const bytes = decode(content);
  if (bytes === undefined)
    throw new KeyError(
      `${where} does not hold an encryption key: it must be ${KEY_BYTES} bytes, raw, in hexadecimal or in base64. Make one with: openssl rand -hex ${KEY_BYTES}`,
    );
  return { bytes, id: keyId(bytes) };
}

function decode(content: Uint8Array): Uint8Array | undefined {
  if (content.length === KEY_BYTES) return content;
  const text = Buffer.from(content).toString("latin1").trim();
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
