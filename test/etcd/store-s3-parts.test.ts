/** How parts are checked by stores that speak S3, over TLS and without, whatever they know and demand. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { createPki } from "../../src/pki/issue.ts";
import { systemClock } from "../../src/seams/clock.ts";
import type { KeyPair } from "../../src/seams/pki.ts";
import { systemRandom } from "../../src/seams/random.ts";
import { FakeS3 } from "../../src/snapshot/testing/fake-s3.ts";
import { never } from "../../src/snapshot/testing/fixtures.ts";
import { PART_BYTES } from "../../src/snapshot/store/http/parts.ts";
import { once, type Store } from "../../src/snapshot/store/store.ts";
import { openS3Store } from "../../src/snapshot/store/s3/s3.ts";

const HOUR = 3_600_000;
const write = { ifAbsent: true, signal: never };
const large = Buffer.from(systemRandom.bytes(PART_BYTES * 2 + 4321));

let dir = "";
let tls: KeyPair = undefined as never;
before(async () => {
  dir = mkdtempSync(path.join(os.tmpdir(), "quorate-s3-part-"));
  const pki = createPki(systemClock, systemRandom);
  const ca = await pki.issueCa({ commonName: "S3", lifeMs: HOUR });
  writeFileSync(path.join(dir, "ca.crt"), ca.certificate);
  const sans = { dns: [], ips: ["127.0.0.1"] };
  tls = await pki.issueLeaf({
    ca,
    leaf: { commonName: "s3", sans, usages: ["serverAuth"], lifeMs: HOUR },
  });
});
after(() => rmSync(dir, { recursive: true, force: true }));

/** How each request was signed, by what it was for. */
class Watched extends FakeS3 {
  readonly unsigned: string[] = [];
  readonly checked: string[] = [];

  protected override handle(...[request, url, body]: Parameters<FakeS3["handle"]>) {
    const number = url.searchParams.get("partNumber");
    const what = number === null ? (request.method ?? "") : `part ${number}`;
    if (request.headers["x-amz-content-sha256"] === "UNSIGNED-PAYLOAD") this.unsigned.push(what);
    if (request.headers["x-amz-checksum-crc32"] !== undefined) this.checked.push(what);
    return super.handle(request, url, body);
  }
}

function open({ endpoint }: FakeS3): Store {
  return openS3Store({
    bucket: "bucket",
    prefix: "",
    clock: systemClock,
    random: systemRandom,
    s3: { endpoint, caFile: path.join(dir, "ca.crt") },
    env: { AWS_ACCESS_KEY_ID: "a", AWS_SECRET_ACCESS_KEY: "b" },
  });
}

async function putLarge(fake: FakeS3): Promise<void> {
  await open(fake).put("large", once(large), write);
  assert.ok(fake.objects.get("large")?.equals(large));
}

const PARTS = ["part 1", "part 2", "part 3"];

test("over TLS, parts carry a CRC-32 that the store checks, and are not hashed for the signature", async () => {
  await using fake = await new Watched(tls).start();
  await putLarge(fake);
  assert.deepEqual([fake.unsigned.toSorted(), fake.checked.toSorted()], [PARTS, PARTS]);
  await open(fake).put("small", once("hello"), write);
  assert.deepEqual(fake.unsigned.toSorted(), PARTS, "what is small is signed whole");
});

test("without TLS, every body is signed", async () => {
  await using fake = await new Watched().start();
  await putLarge(fake);
  assert.deepEqual([fake.unsigned, fake.checked], [[], []]);
});

for (const checksums of ["unknown", "refused"] as const)
  test(`over TLS, every body is signed where checksums are ${checksums} to the store`, async () => {
    await using fake = await new Watched(tls).start();
    fake.checksums = checksums;
    await putLarge(fake);
    assert.deepEqual([fake.unsigned, fake.checked], [[], []]);
    assert.equal(fake.pending, 0);
  });

test("a bucket whose policy demands signed bodies gets them, with the CRC-32", async () => {
  await using fake = await new Watched(tls).start();
  fake.demandsSigned = true;
  await putLarge(fake);
  assert.ok(fake.unsigned.length <= 2, "only parts that were on their way when it was refused");
  assert.deepEqual([...new Set(fake.checked)].toSorted(), PARTS);
});

test("a part that arrives damaged is refused by its CRC-32, and nothing appears", async () => {
  await using fake = await new Watched(tls).start();
  fake.damages = true;
  await assert.rejects(open(fake).put("large", once(large), write), /BadDigest/);
  assert.equal(fake.objects.size + fake.pending, 0);
});

test("connections that are cut and errors of the store are tried again over TLS, too", async () => {
  await using fake = await new Watched(tls).start();
  fake.faults.errors = 2;
  fake.faults.cutWrites = 2;
  await putLarge(fake);
  assert.equal(fake.pending, 0);
});
