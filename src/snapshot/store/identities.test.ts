/** Tokens of Google and Microsoft, asked for as their own libraries do, from stand-ins on loopback. */
import assert from "node:assert/strict";
import { createVerify, generateKeyPairSync } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import os from "node:os";
import path from "node:path";
import { test, type TestContext } from "node:test";
import { systemClock } from "../../seams/clock.ts";
import { never } from "../testing/fixtures.ts";
import { findToken as findAzureToken } from "./azure/identity.ts";
import { resolvePlace } from "./azure/settings.ts";
import { sharedKey } from "./azure/sign.ts";
import { findToken } from "./gcs/credentials.ts";
import { HttpClient } from "./http/http.ts";

interface Asked {
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: URLSearchParams;
  readonly text: string;
}

async function issuer(t: TestContext): Promise<{ url: string; asked: Asked[]; dir: string }> {
  const dir = mkdtempSync(path.join(os.tmpdir(), "quorate-identity-"));
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    let text = "";
    request.on("data", (part: Buffer) => (text += part.toString()));
    request.on("end", () => {
      const { url = "", headers } = request;
      asked.push({ url, headers, body: new URLSearchParams(text), text });
      if (url === "/refused") response.writeHead(400).end(JSON.stringify({ error: "invalid_grant" }));
      else if (url.includes("impersonate"))
        response.end(JSON.stringify({ accessToken: "impersonated", expireTime: "2030-01-01T00:00:00Z" }));
      else response.end(JSON.stringify({ access_token: `token-${asked.length}`, expires_in: 3600 }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
    rmSync(dir, { recursive: true, force: true });
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked, dir };
}

const now = Date.parse("2026-01-01T00:00:00Z");
const clock = { ...systemClock, now: () => now };

function googleWith(env: Record<string, string>) {
  return findToken({ env: { HOME: "/nonexistent", ...env }, clock, http: new HttpClient() }, never);
}

function google(dir: string, credentials: object) {
  const file = path.join(dir, "credentials.json");
  writeFileSync(file, JSON.stringify(credentials));
  return googleWith({ GOOGLE_APPLICATION_CREDENTIALS: file });
}

test("a service account of Google signs its claim, and the token expires when it says", async (t) => {
  const { url, asked, dir } = await issuer(t);
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const key = privateKey.export({ type: "pkcs8", format: "pem" });
  const account = {
    type: "service_account",
    client_email: "a@b",
    private_key: key,
    token_uri: `${url}/token`,
  };
  assert.deepEqual(await google(dir, account), { token: "token-1", expiresAt: now + 3_600_000 });
  const [head, claim, signature] = (asked[0]?.body.get("assertion") ?? "").split(".");
  assert.ok(
    createVerify("RSA-SHA256")
      .update(`${head}.${claim}`)
      .verify(publicKey, signature ?? "", "base64url"),
  );
  const { iss, aud, exp } = JSON.parse(Buffer.from(claim ?? "", "base64url").toString()) as Record<
    string,
    unknown
  >;
  assert.deepEqual([iss, aud, exp], ["a@b", `${url}/token`, now / 1000 + 3600]);
  await assert.rejects(google(dir, { ...account, private_key: "no key" }), { kind: "invalid" });
  await assert.rejects(google(dir, { ...account, token_uri: `${url}/refused` }), { kind: "denied" });
  await assert.rejects(google(dir, { ...account, token_uri: "http://example.com/token" }), {
    kind: "invalid",
  });
});

test("a user's login, a federated identity and the metadata service of Google are used", async (t) => {
  const { url, asked, dir } = await issuer(t);
  const user = { type: "authorized_user", client_id: "i", client_secret: "s", refresh_token: "r" };
  await google(dir, { ...user, token_uri: `${url}/token` });
  assert.equal(asked[0]?.body.get("refresh_token"), "r");
  const subject = path.join(dir, "subject");
  writeFileSync(subject, "projected\n");
  const external = {
    type: "external_account",
    audience: "//iam",
    subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
    token_url: `${url}/sts`,
    credential_source: { file: subject },
    service_account_impersonation_url: `${url}/impersonate`,
  };
  assert.equal((await google(dir, external)).token, "impersonated");
  assert.equal(asked[1]?.body.get("subject_token"), "projected");
  assert.equal(asked[2]?.headers.authorization, "Bearer token-2");
  await assert.rejects(google(dir, { ...external, credential_source: { environment_id: "aws1" } }), {
    kind: "invalid",
  });
  await assert.rejects(google(dir, { type: "gdch_service_account" }), { kind: "invalid" });
  assert.equal((await googleWith({ GCE_METADATA_HOST: new URL(url).host })).token, "token-4");
  assert.equal(asked.at(-1)?.headers["metadata-flavor"], "Google");
  await assert.rejects(googleWith({ GCE_METADATA_HOST: "127.0.0.1:9" }), /no credentials for Google/);
});

test("a workload identity, a client secret and a managed identity of Azure are used", async (t) => {
  const { url, asked, dir } = await issuer(t);
  const projected = path.join(dir, "token");
  writeFileSync(projected, "projected\n");
  const http = new HttpClient();
  const azure = (env: Record<string, string>) => findAzureToken(env, clock, http, never);
  const application = {
    AZURE_TENANT_ID: "tenant",
    AZURE_CLIENT_ID: "client",
    AZURE_AUTHORITY_HOST: `${url}/`,
  };
  const { token, expiresAt } = await azure({ ...application, AZURE_FEDERATED_TOKEN_FILE: projected });
  assert.deepEqual([token, expiresAt], ["token-1", now + 3_600_000]);
  assert.equal(asked[0]?.url, "/tenant/oauth2/v2.0/token");
  assert.equal(asked[0]?.body.get("client_assertion"), "projected");
  await azure({ ...application, AZURE_CLIENT_SECRET: "secret" });
  assert.equal(asked[1]?.body.get("client_secret"), "secret");
  await azure({ AZURE_CLIENT_ID: "client", AZURE_POD_IDENTITY_AUTHORITY_HOST: url });
  assert.match(asked[2]?.url ?? "", /resource=https%3A%2F%2Fstorage.azure.com%2F&client_id=client$/);
  assert.equal(asked[2]?.headers["metadata"], "true");
  await assert.rejects(
    azure({ AZURE_POD_IDENTITY_AUTHORITY_HOST: "http://127.0.0.1:9" }),
    /no credentials for Azure/,
  );
});

test("a storage account is found in flags, variables and connection strings", async () => {
  const place = (settings = {}, env = {}) => resolvePlace(settings, env);
  const plain = await place({ account: "backups" });
  assert.deepEqual([plain.origin, plain.base], ["https://backups.blob.core.windows.net", "/"]);
  const connection =
    "DefaultEndpointsProtocol=https;AccountName=china;AccountKey=a2V5==;EndpointSuffix=core.chinacloudapi.cn";
  const other = await place({}, { AZURE_STORAGE_CONNECTION_STRING: connection });
  assert.deepEqual(
    [other.origin, other.key?.toString()],
    ["https://china.blob.core.chinacloudapi.cn", "key"],
  );
  const emulator = await place({
    account: "devstoreaccount1",
    endpoint: "http://127.0.0.1:10000/devstoreaccount1",
  });
  assert.deepEqual([emulator.origin, emulator.base], ["http://127.0.0.1:10000", "/devstoreaccount1/"]);
  const sas = await place({ account: "backups" }, { AZURE_STORAGE_SAS_TOKEN: "?sv=1&sig=a%2Bb" });
  assert.deepEqual(sas.sas, { sv: "1", sig: "a+b" });
  await assert.rejects(place(), /AZURE_STORAGE_ACCOUNT/);
  await assert.rejects(place({ account: "Not_A_Name" }), { kind: "invalid" });
});

test("the text that Azure has signed names headers and parameters in its order", () => {
  const headers = {
    "x-ms-version": "2021-12-02",
    "x-ms-date": "Thu, 01 Jan 2026 00:00:00 GMT",
    range: "bytes=0-1",
  };
  const request = {
    method: "GET",
    path: "/c/a%20b",
    query: { comp: "list", Prefix: "x" },
    headers,
    length: 0,
  };
  const signature = sharedKey(request, "account", Buffer.from("key"));
  assert.match(signature, /^SharedKey account:[A-Za-z0-9+/]{43}=$/);
  assert.notEqual(signature, sharedKey({ ...request, path: "/c/a" }, "account", Buffer.from("key")));
});

test("a mounted Secret of Azure is used instead of the environment, and one without a key is refused", async (t) => {
  const dir = mkdtempSync(path.join(os.tmpdir(), "quorate-azure-"));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  const settings = { account: "acc", credentialsDir: dir };
  const env = { AZURE_STORAGE_KEY: Buffer.from("of the environment").toString("base64") };
  await assert.rejects(resolvePlace(settings, env), /neither the key AZURE_STORAGE_KEY nor/);
  writeFileSync(path.join(dir, "AZURE_STORAGE_SAS_TOKEN"), "?sv=1&sig=a%2Bb\n");
  const { key, sas } = await resolvePlace(settings, env);
  assert.deepEqual([key, sas], [undefined, { sv: "1", sig: "a+b" }]);
  writeFileSync(path.join(dir, "AZURE_STORAGE_KEY"), `${Buffer.from("secret").toString("base64")}\n`);
  assert.equal((await resolvePlace(settings, env)).key?.toString(), "secret");
});
