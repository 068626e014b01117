import assert from "node:assert/strict";
import { test } from "node:test";
import { systemRandom } from "../../seams/random.ts";
import { decrypt, encrypt } from "./encrypt.ts";
import { KeyError, parseKey } from "./key.ts";

const hex = (byte: string) => byte.repeat(32);
const keyIn = (text: string) => parseKey(Buffer.from(text), "the file");

async function* chunks(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

async function all(stream: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const part of stream) parts.push(part);
  return Buffer.concat(parts);
}

test("a key is 32 bytes, raw, in hexadecimal or in base64, and all of them are the same key", () => {
  const raw = Buffer.from(hex("0f"), "hex");
  const { id } = parseKey(raw, "raw");
  assert.equal(keyIn(`${hex("0f")}\n`).id, id);
  assert.equal(keyIn(raw.toString("base64")).id, id);
  assert.equal(keyIn(hex("0f")).former, undefined);
});

test("former keys in further lines read what they have encrypted; the first one encrypts", async () => {
  const before = keyIn(hex("0a"));
  const sealed = await all(encrypt(chunks("secret"), before, systemRandom));
  const now = keyIn(`${hex("0b")}\n\n${hex("0a")}\n${hex("0c")}\n`);
  assert.equal((await all(decrypt(chunksOf(sealed), now))).toString(), "secret");
  const again = await all(encrypt(chunks("secret"), now, systemRandom));
  assert.equal((await all(decrypt(chunksOf(again), keyIn(hex("0b"))))).toString(), "secret");
  await assert.rejects(all(decrypt(chunksOf(again), before)), /is encrypted with key .*: pass the other one/);
});

async function* chunksOf(bytes: Buffer): AsyncGenerator<Uint8Array> {
  yield bytes;
}

test("what is no key is refused, also in a further line, and never shown", () => {
  for (const text of ["", "short", `${hex("0f")}\nshort`, hex("0f").slice(1)])
    assert.throws(
      () => keyIn(text),
      (error) => error instanceof KeyError && error.message.startsWith("the file does not hold"),
    );
});
