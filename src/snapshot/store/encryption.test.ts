/** The store encrypts with the key that was asked for only if every request that makes an object names it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { FakeStore } from "../testing/fake-store.ts";
import { never } from "../testing/fixtures.ts";
import { HTTP_STORES, openStore } from "../testing/http-stores.ts";
import { PART_BYTES } from "./http/parts.ts";
import { once } from "./store.ts";

const { s3, gcs, azure } = HTTP_STORES;
const KEY = "projects/p/locations/l/keyRings/r/cryptoKeys/k";

interface Sent {
  readonly request: string;
  readonly headers: FakeStore["headers"][number];
}

/** Of a small object, and of one that is sent in parts. */
async function sentTo(fake: FakeStore, store: ReturnType<typeof openStore>): Promise<readonly Sent[]> {
  await store.put("small", once("hello"), { ifAbsent: true, signal: never });
  await store.put("large", once(Buffer.alloc(PART_BYTES * 2 + 1)), { ifAbsent: true, signal: never });
  return fake.requests.map((request, i) => ({ request, headers: fake.headers[i] ?? {} }));
}

test("S3: what makes an object names the way of encryption and the key, and both are signed", async () => {
  await using fake = await s3.fake().start();
  const settings = (endpoint: string) => ({ s3: { endpoint, sse: "aws:kms", kmsKey: KEY } as const });
  const sent = await sentTo(fake, openStore({ ...s3, settings }, fake.endpoint, "bucket"));
  const small = sent.filter(({ request }) => /^PUT \S+small$/.test(request));
  const large = sent.filter(({ request }) => /^POST \S+large\?uploads/.test(request));
  assert.deepEqual([small.length, large.length], [1, 1], fake.requests.join("\n"));
  for (const { headers } of [...small, ...large]) {
    assert.equal(headers["x-amz-server-side-encryption"], "aws:kms");
    assert.equal(headers["x-amz-server-side-encryption-aws-kms-key-id"], KEY);
    const signed = /SignedHeaders=([^,]+)/.exec(headers.authorization ?? "")?.[1]?.split(";") ?? [];
    assert.ok(signed.includes("x-amz-server-side-encryption"), headers.authorization);
    assert.ok(signed.includes("x-amz-server-side-encryption-aws-kms-key-id"), headers.authorization);
  }
});

test("Google Cloud Storage: both kinds of uploads name the key", async () => {
  await using fake = await gcs.fake().start();
  const settings = (endpoint: string) => ({ gcs: { endpoint, kmsKey: KEY } });
  const sent = await sentTo(fake, openStore({ ...gcs, settings }, fake.endpoint, "bucket"));
  const begun = sent.filter(({ request }) => /^POST \S+uploadType=/.test(request));
  const kinds = begun.map(({ request }) => /uploadType=(\w+)/.exec(request)?.[1] ?? "").toSorted();
  assert.deepEqual(kinds, ["media", "resumable"], fake.requests.join("\n"));
  for (const { request } of begun)
    assert.equal(new URL(request.split(" ")[1] ?? "", fake.endpoint).searchParams.get("kmsKeyName"), KEY);
});

test("Azure: blobs, blocks and the list of blocks name the scope", async () => {
  await using fake = await azure.fake().start();
  const settings = (endpoint: string) => ({
    azure: { ...azure.settings(endpoint).azure, encryptionScope: "scope1" },
  });
  const sent = await sentTo(fake, openStore({ ...azure, settings }, fake.endpoint, "bucket"));
  const puts = sent.filter(({ request }) => request.startsWith("PUT "));
  assert.ok(puts.length >= 4, fake.requests.join("\n"));
  for (const { request, headers } of puts) assert.equal(headers["x-ms-encryption-scope"], "scope1", request);
});

for (const [name, store] of Object.entries(HTTP_STORES))
  test(`${name}: nothing of it is sent unless it was asked for`, async () => {
    await using fake = await store.fake().start();
    for (const { request, headers } of await sentTo(fake, openStore(store, fake.endpoint, "bucket")))
      assert.doesNotMatch(`${request} ${Object.keys(headers).join()}`, /kms|encryption/i);
  });
