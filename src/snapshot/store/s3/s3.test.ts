import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { systemClock, type Clock } from "../../../seams/clock.ts";
import { systemRandom } from "../../../seams/random.ts";
import { FakeS3 } from "../../testing/fake-s3.ts";
import { never } from "../../testing/fixtures.ts";
import { once, readText, type Store } from "../store.ts";
import { CredentialChain } from "./credentials.ts";
import { HttpClient } from "./http.ts";
import { openS3Store } from "./s3.ts";
import { parseIni, resolvePlace } from "./settings.ts";
import { EMPTY_HASH, encodePath, signed } from "./sign.ts";
import { PART_BYTES } from "./upload.ts";
import { decodeXml, textOf } from "./xml.ts";

/** Waits pass at once. */
const clock: Clock = {
  ...systemClock,
  timer: (ms, fire, options) => systemClock.timer(Math.min(ms, 1), fire, options),
};
const write = { ifAbsent: true, signal: never };
const env = { AWS_ACCESS_KEY_ID: "a", AWS_SECRET_ACCESS_KEY: "b" };

function storeAt(endpoint: string, bucket = "bucket"): Store {
  return openS3Store({ bucket, prefix: "pre/", s3: { endpoint }, env, clock, random: systemRandom });
}

const large = Buffer.from(systemRandom.bytes(PART_BYTES * 2 + 4321));
async function* inPieces(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 1_000_000)
    yield await Promise.resolve(bytes.subarray(at, at + 1_000_000));
}

async function read(store: Store, name: string): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const part of store.get(name, { signal: never })) parts.push(part);
  return Buffer.concat(parts);
}

test("a request is signed as AWS's own example is", () => {
  const headers = signed(
    {
      method: "GET",
      host: "examplebucket.s3.amazonaws.com",
      path: "/test.txt",
      query: {},
      headers: { range: "bytes=0-9" },
      payloadHash: EMPTY_HASH,
    },
    { accessKeyId: "AKIAIOSFODNN7EXAMPLE", secretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY" },
    { region: "us-east-1", service: "s3", now: new Date("2013-05-24T00:00:00Z") },
  );
  assert.match(
    headers["authorization"] ?? "",
    /Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41$/,
  );
  assert.equal(encodePath("a b/c+d/é(1)*"), "a%20b/c%2Bd/%C3%A9%281%29%2A");
});

test("small and large objects are written and read, by range too", async () => {
  await using fake = await FakeS3.start();
  const store = storeAt(fake.endpoint);
  await store.put("small", once("hello"), write);
  await store.put("large", inPieces(large), write);
  assert.equal(await readText(store, "small", never), "hello");
  assert.ok((await read(store, "large")).equals(large));
  assert.equal(fake.uploads.size, 0);
  const parts: Uint8Array[] = [];
  for await (const part of store.get("small", { signal: never, range: { start: 1, length: 3 } }))
    parts.push(part);
  assert.equal(Buffer.concat(parts).toString(), "ell");
  assert.deepEqual((await store.head("large", never))?.size, large.length);
  assert.equal(await store.head("none", never), undefined);
});

test("a body of exactly one part, and of whole parts, arrives whole", async () => {
  await using fake = await FakeS3.start();
  const store = storeAt(fake.endpoint);
  for (const size of [0, PART_BYTES, PART_BYTES * 2]) {
    await store.put(`s${size}`, inPieces(large.subarray(0, size)), write);
    assert.ok((await read(store, `s${size}`)).equals(large.subarray(0, size)), String(size));
  }
});

test("errors of the store and cut connections are tried again", async () => {
  await using fake = await FakeS3.start();
  const store = storeAt(fake.endpoint);
  fake.faults.errors = 3;
  fake.faults.cutWrites = 2;
  await store.put("large", inPieces(large), write);
  fake.faults.cutReads = 4;
  assert.ok((await read(store, "large")).equals(large), "taken up where it broke off");
});

test("a store that keeps failing is given up with the reason, and leaves no parts", async () => {
  await using fake = await FakeS3.start();
  const store = storeAt(fake.endpoint);
  fake.faults.errors = 1000;
  await assert.rejects(store.put("large", inPieces(large), write), { kind: "unreachable" });
  fake.faults.errors = 0;
  fake.faults.cutWrites = 1000;
  await assert.rejects(store.put("large", inPieces(large), write), { kind: "unreachable" });
  assert.equal(fake.uploads.size, 0);
  assert.equal(fake.objects.size, 0);
});

test("a source that fails leaves neither object nor parts", async () => {
  await using fake = await FakeS3.start();
  const failing = async function* () {
    yield* inPieces(large);
    throw new Error("the member went away");
  };
  await assert.rejects(storeAt(fake.endpoint).put("large", failing(), write), /went away/);
  assert.equal(fake.uploads.size + fake.objects.size, 0);
});

test("a name that is taken is refused, also when it is taken meanwhile", async () => {
  await using fake = await FakeS3.start();
  const store = storeAt(fake.endpoint);
  const late = (bytes: Buffer) =>
    async function* () {
      yield* inPieces(bytes);
      fake.objects.set("pre/taken", Buffer.from("first"));
    };
  await assert.rejects(store.put("taken", late(large)(), write), { kind: "exists" });
  fake.objects.clear();
  await assert.rejects(store.put("taken", late(Buffer.from("small"))(), write), { kind: "exists" });
  assert.equal(fake.objects.get("pre/taken")?.toString(), "first");
  assert.equal(fake.uploads.size, 0);
});

test("a write whose answer was lost is not taken for somebody else's", async () => {
  await using fake = await FakeS3.start();
  const store = storeAt(fake.endpoint);
  fake.faults.losing = ({ method }) => method === "PUT";
  fake.faults.loseAnswers = 1;
  await store.put("small", once("hello"), write);
  fake.faults.losing = ({ method, url }) => method === "POST" && url?.includes("uploadId") === true;
  fake.faults.loseAnswers = 1;
  await store.put("large", inPieces(large), write);
  assert.ok(fake.objects.get("pre/large")?.equals(large));
});

test("a store without conditional writes is used with a look before", async () => {
  await using fake = await FakeS3.start();
  const store = storeAt(fake.endpoint);
  fake.faults.unconditional = true;
  await store.put("small", once("hello"), write);
  await store.put("large", inPieces(large), write);
  await assert.rejects(store.put("small", once("other"), write), { kind: "exists" });
});

test("an object that changes while it is read is not patched together", async () => {
  await using fake = await FakeS3.start();
  const store = storeAt(fake.endpoint);
  await store.put("a", inPieces(large), write);
  fake.faults.cutReads = 1;
  const reading = (async () => {
    for await (const _ of store.get("a", { signal: never }))
      fake.objects.set("pre/a", Buffer.alloc(large.length));
  })();
  await assert.rejects(reading, { kind: "interrupted" });
});

test("a listing has all pages; deleting what is not there is fine", async () => {
  await using fake = await FakeS3.start();
  const store = storeAt(fake.endpoint);
  for (const name of ["a b", "c+d", "e&f", "g/h", "i"]) fake.objects.set(`pre/${name}`, Buffer.from("x"));
  fake.objects.set("other/x", Buffer.from("x"));
  const names: string[] = [];
  for await (const { name } of store.list("", never)) names.push(name);
  assert.deepEqual(names, ["a b", "c+d", "e&f", "g/h", "i"]);
  await store.delete("i", never);
  await store.delete("i", never);
  await assert.rejects(readText(store, "i", never), { kind: "not-found" });
});

test("a bucket that does not exist and a server that is not there are told apart", async () => {
  await using fake = await FakeS3.start();
  await assert.rejects(storeAt(fake.endpoint, "nobody").put("a", once("x"), write), { kind: "no-place" });
  await assert.rejects(storeAt("http://127.0.0.1:9").head("a", never), { kind: "unreachable" });
});

test("regions, endpoints and styles give the address that AWS documents", async () => {
  const place = (bucket: string, s3 = {}, more = {}) => resolvePlace(bucket, s3, {}, more);
  const { origin, base, region } = await place("b", {}, { AWS_REGION: "eu-west-1" });
  assert.deepEqual([origin, base, region], ["https://b.s3.eu-west-1.amazonaws.com", "/", "eu-west-1"]);
  const own = await place("b", { endpoint: "http://minio:9000" });
  assert.deepEqual([own.origin, own.base], ["http://minio:9000", "/b/"]);
  assert.equal((await place("a.b")).base, "/a.b/");
  await assert.rejects(place("b", { endpoint: "minio" }), { kind: "invalid" });
});

test("profile files are read as AWS reads them", () => {
  const sections = parseIni(
    "# c\n[default]\nregion = eu-west-1\n\n[profile x]\naws_access_key_id=AK\n; c\nkey = a=b\n",
  );
  assert.deepEqual(sections.get("default"), { region: "eu-west-1" });
  assert.deepEqual(sections.get("profile x"), { aws_access_key_id: "AK", key: "a=b" });
});

test("texts in XML are decoded", () => {
  assert.equal(textOf("<a><Code x='1'>A&amp;B&#x41;&#66;</Code></a>", "Code"), "A&BAB");
  assert.equal(decodeXml("&unknown; &lt;"), "&unknown; <");
});

test("credentials come from STS, the container's endpoint and the instance, and are renewed in time", async (t) => {
  const dir = mkdtempSync(path.join(os.tmpdir(), "quorate-token-"));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  const token = path.join(dir, "token");
  writeFileSync(token, "projected-token\n");
  let now = Date.parse("2026-01-01T00:00:00Z");
  const asked: string[] = [];
  const expiration = () => new Date(now + 3_600_000).toISOString();
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (part: Buffer) => (body += part.toString()));
    request.on("end", () => {
      asked.push(`${request.method} ${request.url} ${request.headers["authorization"] ?? ""} ${body}`);
      const json = { AccessKeyId: "AK", SecretAccessKey: "SK", Token: "T", Expiration: expiration() };
      if (request.method === "POST")
        response.end(
          `<R><Credentials><AccessKeyId>STS</AccessKeyId><SecretAccessKey>S</SecretAccessKey><SessionToken>T</SessionToken><Expiration>${expiration()}</Expiration></Credentials></R>`,
        );
      else if (request.url === "/latest/api/token") response.end("imds-token");
      else if (request.url?.endsWith("security-credentials/")) response.end("my-role");
      else response.end(JSON.stringify(json));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const chain = (more: Record<string, string>) =>
    new CredentialChain(
      {
        env: more,
        profile: {},
        explicitProfile: false,
        region: "eu-west-1",
        clock: { ...systemClock, now: () => now },
      },
      new HttpClient(),
    );
  const web = chain({
    AWS_WEB_IDENTITY_TOKEN_FILE: token,
    AWS_ROLE_ARN: "arn:aws:iam::1:role/r",
    AWS_ENDPOINT_URL_STS: url,
  });
  assert.equal((await web.get(never)).accessKeyId, "STS");
  assert.match(asked[0] ?? "", /WebIdentityToken=projected-token$/);
  await web.get(never);
  assert.equal(asked.length, 1, "kept");
  now += 3_400_000;
  await web.get(never);
  assert.equal(asked.length, 2, "renewed before it expires");
  const pod = chain({
    AWS_CONTAINER_CREDENTIALS_FULL_URI: `${url}/v1/credentials`,
    AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: token,
  });
  assert.equal((await pod.get(never)).sessionToken, "T");
  assert.match(asked.at(-1) ?? "", /^GET \/v1\/credentials projected-token/);
  const instance = chain({ AWS_EC2_METADATA_SERVICE_ENDPOINT: url });
  assert.equal((await instance.get(never)).accessKeyId, "AK");
  assert.match(asked.at(-1) ?? "", /my-role/);
  await assert.rejects(chain({ AWS_CONTAINER_CREDENTIALS_FULL_URI: "http://example.com/x" }).get(never), {
    kind: "invalid",
  });
  await assert.rejects(chain({ AWS_EC2_METADATA_DISABLED: "true" }).get(never), /no credentials for S3/);
});
