/**
 * Kubeconfigs as people have them, on a real API server: plugins whose tokens expire, also in the midst of a watch,
 * acting as somebody else, and proxies.
 */
import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { exampleCluster } from "../../src/api/examples.ts";
import { dispatch } from "../../src/cli/dispatch.ts";
import { collectingIo } from "../../src/cli/testing.ts";
import { verbs } from "../../src/cli/verbs.ts";
import { loadConfig } from "../../src/kube/config.ts";
import { configMaps } from "../../src/kube/resources.ts";
import type { Http2Transport } from "../../src/kube/transport.ts";
import { systemDisk } from "../../src/seams/disk.ts";
import type { KubeRequest, KubeTransport } from "../../src/seams/kube-transport.ts";
import { eventually } from "../../testbed/eventually.ts";
import { upForTests, type TestTestbed } from "../../testbed/for-tests.ts";
import { clientOn, reflectorOf, relayTo, transportTo } from "../support/kube-runtime.ts";
import { PATHS } from "../support/kube-paths.ts";
import { define } from "../support/operator.ts";
import { issuerOf } from "../support/issuer.ts";
import { connectProxy, socksProxy } from "../support/proxies.ts";

const API_VERSION = "client.authentication.k8s.io/v1";
const WHO_AM_I: KubeRequest = {
  method: "POST",
  path: "/apis/authentication.k8s.io/v1/selfsubjectreviews",
  body: { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" },
};
const forever = { signal: new AbortController().signal };

let bed: TestTestbed;
const dir = mkdtempSync(join(tmpdir(), "quorate-credentials-"));
const closing: (() => unknown)[] = [];

before(async () => {
  bed = await upForTests();
  for (const name of ["first", "second"])
    await bed.client.create("/api/v1/namespaces/default/serviceaccounts", { metadata: { name } });
  await bed.client.create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
    metadata: { name: "credentials-test" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
    subjects: ["first", "second"].map((name) => ({ kind: "ServiceAccount", name, namespace: "default" })),
  });
});

after(async () => {
  for (const close of closing.toReversed()) await close();
  await bed?.down();
  rmSync(dir, { recursive: true, force: true });
});

/** A token that dies with its Secret, long before it expires. */
async function tokenOf(account: string, secret?: string): Promise<string> {
  const bound = secret && {
    boundObjectRef: { apiVersion: "v1", kind: "Secret", name: secret },
  };
  const { status } = await bed.client.create<{ spec: object; status?: { token: string } }>(
    `/api/v1/namespaces/default/serviceaccounts/${account}/token`,
    { spec: { expirationSeconds: 600, ...bound } },
  );
  assert.ok(status);
  return status.token;
}

/** A plugin that prints what `says` was told last, and counts how often it ran. */
function plugin(name: string) {
  const [script, answer, runs] = ["sh", "json", "runs"].map((ending) => join(dir, `${name}.${ending}`));
  assert.ok(script && answer && runs);
  writeFileSync(script, `#!/bin/sh\necho run >> "${runs}"\ncat "${answer}"\n`);
  chmodSync(script, 0o755);
  writeFileSync(runs, "");
  return {
    exec: { apiVersion: API_VERSION, command: `./${name}.sh`, interactiveMode: "Never" },
    says: (status: object) =>
      writeFileSync(answer, JSON.stringify({ apiVersion: API_VERSION, kind: "ExecCredential", status })),
    runs: () => readFileSync(runs, "utf8").split("\n").length - 1,
  };
}

async function connected(name: string, user: object, cluster: object = {}): Promise<Http2Transport> {
  const transport = transportTo(
    await loadConfig(systemDisk, {}, { file: kubeconfigFor(name, user, cluster) }),
  );
  closing.push(() => transport.close());
  return transport;
}

function kubeconfigFor(name: string, user: object, cluster: object = {}): string {
  const file = join(dir, name);
  const authority = Buffer.from(bed.access.ca ?? "").toString("base64");
  const entry = { server: bed.access.server, "certificate-authority-data": authority, ...cluster };
  const config = {
    "current-context": "main",
    contexts: [{ name: "main", context: { cluster: "c", user: "u" } }],
    clusters: [{ name: "c", cluster: entry }],
    users: [{ name: "u", user }],
  };
  writeFileSync(file, JSON.stringify(config));
  return file;
}

interface UserInfo {
  readonly username: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

async function whoAmI(transport: KubeTransport): Promise<UserInfo> {
  const { status, body } = await transport.request(WHO_AM_I, forever);
  assert.equal(status, 201, JSON.stringify(body));
  return (body as { status: { userInfo: UserInfo } }).status.userInfo;
}

test("a plugin's token is used until it expires, then the plugin is asked again", async () => {
  const { exec, says, runs } = plugin("expiring");
  const token = await tokenOf("first");
  const transport = await connected("expiring", { exec });
  // Long enough for two calls on a busy machine.
  says({ token, expirationTimestamp: new Date(Date.now() + 30_000).toISOString() });
  assert.equal((await whoAmI(transport)).username, "system:serviceaccount:default:first");
  await whoAmI(transport);
  assert.equal(runs(), 1);
  says({ token: await tokenOf("second") });
  const replaced = async () => (await whoAmI(transport)).username.endsWith(":second");
  await eventually("the second token is used", replaced, { everyMs: 500 });
  assert.equal(runs(), 2);
});

test("a token that is refused in the midst of a watch is replaced, and the watch goes on where it was", async () => {
  const { exec, says, runs } = plugin("refused");
  const secret = { metadata: { name: "bound" }, stringData: { key: "value" } };
  await bed.client.create("/api/v1/namespaces/default/secrets", secret);
  const token = await tokenOf("first", "bound");
  says({ token });
  const relay = await relayTo(bed.access.server);
  closing.push(() => relay.close());
  const transport = await connected("refused", { exec }, { server: relay.url });
  let lists = 0;
  const counting: KubeTransport = {
    request: (request, options) => transport.request(request, options),
    stream: (request, options) => {
      if (request.query?.["sendInitialEvents"] !== undefined) lists++;
      return transport.stream(request, options);
    },
    close: () => transport.close(),
  };
  const client = clientOn(counting);
  const reflector = reflectorOf(client, "default");
  closing.push(() => reflector.stop());
  await eventually("the watch has its first state", () => reflector.store.synced);

  says({ token: await tokenOf("second") });
  await bed.client.delete("/api/v1/namespaces/default/secrets/bound");
  const old = await connected("old", { token });
  const refused = async () => (await old.request(WHO_AM_I, forever)).status === 401;
  await eventually("the first token is refused", refused, { everyMs: 500 });
  assert.equal(runs(), 1, "the open watch needs no new one");

  relay.blackhole();
  const labels = { "kube-test": "yes" };
  await bed.client.create("/api/v1/namespaces/default/configmaps", { metadata: { name: "later", labels } });
  await eventually("the watch shows it", () => reflector.store.get("default/later") !== undefined);
  assert.equal(runs(), 2);
  assert.equal(lists, 1, "nothing was listed again");
  assert.ok(await client.find(configMaps, { namespace: "default", name: "later" }));
});

const SOON_MS = 6_000;

test("a token that expires in the midst of a watch is replaced before it is refused, and the watch goes on", async () => {
  const { exec, says, runs } = plugin("ending");
  await bed.client.create("/api/v1/namespaces/default/secrets", { metadata: { name: "ending" } });
  const token = await tokenOf("first", "ending");
  const next = await tokenOf("second");
  const end = Date.now() + SOON_MS;
  says({ token, expirationTimestamp: new Date(end).toISOString() });
  const relay = await relayTo(bed.access.server);
  closing.push(() => relay.close());
  const transport = await connected("ending", { exec }, { server: relay.url });
  let lists = 0;
  const counting: KubeTransport = {
    request: (request, options) => transport.request(request, options),
    stream: (request, options) => {
      if (request.query?.["sendInitialEvents"] !== undefined) lists++;
      return transport.stream(request, options);
    },
    close: () => transport.close(),
  };
  const reflector = reflectorOf(clientOn(counting), "default");
  closing.push(() => reflector.stop());
  await eventually("the watch has its first state", () => reflector.store.synced);
  says({ token: next });
  await eventually("the first token has expired", () => Date.now() > end, { everyMs: 200 });
  // The watch has to be opened again.
  relay.blackhole();
  await eventually("the plugin is asked again", () => runs() > 1, { everyMs: 200 });
  const old = await connected("ending-old", { token });
  assert.match((await whoAmI(old)).username, /:first$/, "the server would still have accepted the first one");
  await bed.client.delete("/api/v1/namespaces/default/secrets/ending");
  const refused = async () => (await old.request(WHO_AM_I, forever)).status === 401;
  await eventually("the first token is refused", refused, { everyMs: 500 });
  const labels = { "kube-test": "yes" };
  await bed.client.create("/api/v1/namespaces/default/configmaps", { metadata: { name: "after", labels } });
  await eventually("the watch shows it", () => reflector.store.get("default/after") !== undefined);
  assert.deepEqual([runs(), lists], [2, 1], "asked once more, and nothing was listed again");
});

test("`list --watch` goes on over the end of a token and a lost connection", async () => {
  await define(bed);
  const { exec, says, runs } = plugin("watching");
  await bed.client.create("/api/v1/namespaces/default/secrets", { metadata: { name: "watching" } });
  const token = await tokenOf("first", "watching");
  says({ token, expirationTimestamp: new Date(Date.now() + SOON_MS).toISOString() });
  const relay = await relayTo(bed.access.server);
  closing.push(() => relay.close());
  const file = kubeconfigFor("watching", { exec }, { server: relay.url });
  const create = (name: string) => bed.client.create(PATHS.clusters, exampleCluster({ name }));
  await create("before");
  const leaving = new AbortController();
  const io = collectingIo({ env: { KUBECONFIG: file, HOME: dir }, signal: leaving.signal });
  const ended = dispatch(["list", "--watch", "-o", "json"], verbs, "0.0.0", io);
  await eventually("the first state is shown", () => io.out().includes('"name": "before"'));
  says({ token: await tokenOf("second") });
  await bed.client.delete("/api/v1/namespaces/default/secrets/watching");
  const old = await connected("watching-old", { token });
  const refused = async () => (await old.request(WHO_AM_I, forever)).status === 401;
  await eventually("the first token is refused", refused, { everyMs: 500 });
  relay.blackhole();
  await create("later");
  await eventually("the change is shown", () => io.out().includes('"name": "later"'), { withinMs: 60_000 });
  leaving.abort();
  assert.equal(await ended, 0, io.err());
  assert.equal(runs(), 2);
});

test("an OpenID Connect token that expired is refreshed at its issuer, used, and written to the kubeconfig", async () => {
  // What this API server takes for a token is one of a service account: the issuer hands out such.
  const issuer = await issuerOf(() => tokenOf("second"));
  closing.push(() => issuer.close());
  const expired = `e30.${Buffer.from(JSON.stringify({ exp: 1 })).toString("base64url")}.x`;
  const config = {
    "idp-issuer-url": issuer.url,
    "idp-certificate-authority-data": Buffer.from(issuer.ca).toString("base64"),
    "client-id": "quorate",
    "id-token": expired,
    "refresh-token": issuer.refreshToken(),
  };
  const user = { "auth-provider": { name: "oidc", config } };
  const transport = await connected("oidc", user);
  assert.equal((await whoAmI(transport)).username, "system:serviceaccount:default:second");
  const file = readFileSync(join(dir, "oidc"), "utf8");
  assert.ok(file.includes(issuer.refreshToken()) && !file.includes(expired), file);
  // The next process finds a token that is good, and asks nobody.
  const next = transportTo(await loadConfig(systemDisk, {}, { file: join(dir, "oidc") }));
  closing.push(() => next.close());
  await whoAmI(next);
  assert.equal(issuer.refreshToken(), "refresh-1");
  // And one that has the refresh token of before is told what to do.
  const late = await connected("oidc-late", user);
  await assert.rejects(
    clientOn(late).list(configMaps),
    /could not be refreshed: .*\/token answered with HTTP status 400 \(invalid_grant: used already\); log in again/,
  );
});

test("a plugin that is not there is reported with its install hint", async () => {
  const exec = { apiVersion: API_VERSION, command: "no-such-login", interactiveMode: "Never" };
  const installHint = "Get it from your administrator.";
  const transport = await connected("absent", { exec: { ...exec, installHint } });
  await assert.rejects(
    clientOn(transport).list(configMaps),
    /no-such-login could not be started.*\n?.*Get it from/s,
  );
});

test("a person acts as another, with groups and more, where that is allowed", async () => {
  const user = {
    token: await tokenOf("first"),
    as: "jane",
    "as-groups": ["developers", "system:authenticated"],
    "as-user-extra": { "example.org/scopes": ["one", "two"] },
  };
  const { username, groups, extra } = await whoAmI(await connected("as", user));
  assert.equal(username, "jane");
  assert.ok(groups.includes("developers"));
  assert.deepEqual(extra?.["example.org/scopes"], ["one", "two"]);
});

test("calls go through an http proxy, and a refusal of the proxy says what to do", async () => {
  const proxy = await connectProxy("user", "p@ss");
  closing.push(() => proxy.close());
  const user = { token: await tokenOf("first") };
  const url = `http://user:p%40ss@127.0.0.1:${proxy.port}`;
  const transport = await connected("proxied", user, { "proxy-url": url });
  await whoAmI(transport);
  assert.equal(proxy.opened(), 1);
  const wrong = await connected("locked-out", user, { "proxy-url": `http://127.0.0.1:${proxy.port}` });
  await assert.rejects(clientOn(wrong).list(configMaps), (error: Error) => {
    assert.match(
      error.message,
      /the proxy http:\/\/127.0.0.1:\d+: refused to connect .* 407 .*put user and password/,
    );
    return true;
  });
  const gone = await connected("no-proxy", user, { "proxy-url": "http://127.0.0.1:1" });
  await assert.rejects(clientOn(gone).list(configMaps), /the proxy http:\/\/127.0.0.1:1: .*ECONNREFUSED/);
});

test("calls go through a SOCKS 5 proxy", async () => {
  const proxy = await socksProxy();
  closing.push(() => proxy.close());
  const cluster = { "proxy-url": `socks5://127.0.0.1:${proxy.port}` };
  await whoAmI(await connected("socks", { token: await tokenOf("first") }, cluster));
  assert.equal(proxy.opened(), 1);
});
