import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { systemClock } from "../../../seams/clock.ts";
import { never } from "../../testing/fixtures.ts";
import { CredentialChain } from "./credentials.ts";
import { HttpClient } from "../http/http.ts";
import { parseIni, resolvePlace } from "./settings.ts";
import { encodePath } from "../http/encode.ts";
import { EMPTY_HASH, signed } from "./sign.ts";
import { decodeXml, textOf } from "../http/xml.ts";

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

test("regions, endpoints and styles give the address that AWS documents", async () => {
  const place = (bucket: string, s3 = {}, more = {}) => resolvePlace(bucket, s3, {}, more);
  const { origin, base, region } = await place("b", {}, { AWS_REGION: "eu-west-1" });
  assert.deepEqual([origin, base, region], ["https://b.s3.eu-west-1.amazonaws.com", "/", "eu-west-1"]);
  const own = await place("b", { endpoint: "http://minio:9000" });
  assert.deepEqual([own.origin, own.base], ["http://minio:9000", "/b/"]);
  const host = await place("b", { endpoint: "http://minio:9000", pathStyle: false });
  assert.deepEqual([host.origin, host.base], ["http://b.minio:9000", "/"]);
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
