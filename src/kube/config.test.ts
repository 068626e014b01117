import assert from "node:assert/strict";
import { test } from "node:test";
import type { Disk } from "../seams/disk.ts";
import { inCluster, KubeConfigError, loadConfig } from "./config.ts";
import type { KubeConfigProblem } from "./kubeconfig/types.ts";
import { impersonationHeaders } from "./credentials/impersonate.ts";
import { Identity } from "./identity.ts";
import { proxyFromEnvironment } from "./kubeconfig/proxy.ts";
import { ManualClock } from "./testing.ts";

/** Only what is read here. */
function diskOf(files: Record<string, string>): Disk {
  return { read: (file: string) => Promise.resolve(files[file]) } as Disk;
}

const base64 = (text: string) => Buffer.from(text).toString("base64");

function kubeconfig(user: object, cluster: object = {}): string {
  return JSON.stringify({
    "current-context": "main",
    contexts: [{ name: "main", context: { cluster: "c", user: "u", namespace: "work" } }],
    clusters: [{ name: "c", cluster: { server: "https://k8s.example:6443", ...cluster } }],
    users: [{ name: "u", user }],
  });
}

async function problemOf(work: Promise<unknown>): Promise<KubeConfigProblem | undefined> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  return error instanceof KubeConfigError ? error.problem : undefined;
}

test("a kubeconfig gives server, authority, and who we are, in place or by file", async () => {
  const inline = { "client-certificate-data": base64("CERT"), "client-key-data": base64("KEY") };
  const files = {
    "/conf/a": kubeconfig(inline, { "certificate-authority-data": base64("CA"), "tls-server-name": "k8s" }),
    "/conf/b": kubeconfig({ tokenFile: "token" }, { "certificate-authority": "pki/ca.crt" }),
    "/conf/c": kubeconfig({ token: "secret" }, { "insecure-skip-tls-verify": true }),
  };
  const disk = diskOf(files);
  assert.deepEqual(await loadConfig(disk, {}, { file: "/conf/a" }), {
    server: "https://k8s.example:6443",
    serverName: "k8s",
    ca: { text: "CA" },
    cert: { text: "CERT" },
    key: { text: "KEY" },
    namespace: "work",
  });
  const byFile = await loadConfig(disk, { KUBECONFIG: "/conf/b" });
  assert.deepEqual(byFile.ca, { file: "/conf/pki/ca.crt" });
  assert.deepEqual(byFile.token, { file: "/conf/token" });
  const insecure = await loadConfig(disk, { KUBECONFIG: "/conf/c" });
  assert.equal(insecure.insecure, true);
  assert.deepEqual(insecure.token, { text: "secret" });
});

test("several kubeconfigs are one, and the first counts", async () => {
  const second = kubeconfig({ token: "second" }).replaceAll('"main"', '"other"');
  const disk = diskOf({ "/1": kubeconfig({ token: "first" }), "/2": second });
  const env = { KUBECONFIG: "/no-such:/1:/2" };
  assert.deepEqual((await loadConfig(disk, env)).token, { text: "first" });
  assert.deepEqual((await loadConfig(disk, env, { context: "other" })).token, { text: "first" }, "users too");
});

test("in a Pod the service account's files are used, and they are files: they are replaced", async () => {
  const disk = diskOf({ "/account/token": "t", "/account/ca.crt": "CA", "/account/namespace": "ops\n" });
  const env = { KUBERNETES_SERVICE_HOST: "fd00::1", KUBERNETES_SERVICE_PORT: "443" };
  assert.deepEqual(await inCluster(disk, env, "/account"), {
    server: "https://[fd00::1]:443",
    ca: { file: "/account/ca.crt" },
    token: { file: "/account/token" },
    namespace: "ops",
  });
  assert.equal(await problemOf(inCluster(diskOf({}), env, "/account")), "incomplete");
  assert.equal(await problemOf(inCluster(disk, {}, "/account")), "missing");
});

test("files that are missing or empty are skipped, paths are seen from their own file", async () => {
  const parts = {
    "/a/empty": "",
    "/a/contexts": JSON.stringify({
      "current-context": "main",
      contexts: [{ name: "main", context: { cluster: "c", user: "u" } }],
    }),
    "/b/users": JSON.stringify({
      "current-context": "other",
      users: [{ name: "u", user: { tokenFile: "t", token: "behind the file" } }],
    }),
    "/c/clusters": JSON.stringify({
      clusters: [{ name: "c", cluster: { server: "https://one", "certificate-authority": "../ca" } }],
      users: [{ name: "u", user: { "client-certificate": "c", "client-key": "k" } }],
    }),
  };
  const env = { KUBECONFIG: ["/none", ...Object.keys(parts)].join(":") };
  assert.deepEqual(await loadConfig(diskOf(parts), env), {
    server: "https://one",
    ca: { file: "/ca" },
    token: { file: "/b/t" },
  });
});

test("what cannot be done as the kubeconfig says is refused, by name", async () => {
  const tried = (text: string, context?: string) =>
    problemOf(loadConfig(diskOf({ "/f": text }), {}, { file: "/f", ...(context && { context }) }));
  assert.equal(await tried(kubeconfig({ "auth-provider": { name: "gcp" } })), "unsupported");
  assert.equal(await tried(kubeconfig({ username: "u", password: "p" })), "unsupported");
  assert.equal(await tried(kubeconfig({ token: "t" }, { "proxy-url": "ftp://p" })), "unsupported");
  assert.equal(await tried(kubeconfig({ token: "t" }, { server: "k8s:6443" })), "incomplete");
  assert.equal(await tried(kubeconfig({ token: "t", "as-groups": ["g"] })), "incomplete");
  assert.equal(await tried(kubeconfig({ "client-certificate-data": base64("C") })), "incomplete");
  assert.equal(await tried(kubeconfig({ "auth-provider": { name: "oidc", config: {} } })), "incomplete");
  assert.equal(await tried(kubeconfig({ exec: {}, "auth-provider": {} })), "incomplete");
  assert.equal(await tried(kubeconfig({}), "no-such"), "no-context");
  assert.equal(await tried("a: [b"), "unreadable");
  assert.equal(await tried("just text"), "unreadable");
  assert.equal(await tried("users: [{name: a}, {name: a}]"), "unreadable");
  assert.equal(await tried("users: {}"), "unreadable");
  assert.equal(await tried(kubeconfig({}).replace('"user":"u"', '"user":"other"')), "incomplete");
  assert.equal(await problemOf(loadConfig(diskOf({}), { HOME: "/h" })), "missing");
  assert.equal(await problemOf(loadConfig(diskOf({}), {})), "missing");
});

test("whom to act as goes along, with groups, UID and more", async () => {
  const user = {
    token: "t",
    as: "jane",
    "as-uid": "7",
    "as-groups": ["a", "b"],
    "as-user-extra": { "example.org/Scopes": ["x", "y"] },
  };
  const { impersonate } = await loadConfig(diskOf({ "/f": kubeconfig(user) }), {}, { file: "/f" });
  assert.deepEqual(impersonationHeaders(impersonate), {
    "impersonate-user": "jane",
    "impersonate-uid": "7",
    "impersonate-group": ["a", "b"],
    "impersonate-extra-example.org%2Fscopes": ["x", "y"],
  });
  assert.deepEqual(impersonationHeaders(undefined), {});
});

test("a credential plugin is read in all its fields, and told of its cluster where it wants that", async () => {
  const read = async (exec: object) => {
    const extensions = [{ name: "client.authentication.k8s.io/exec", extension: { audience: "a" } }];
    const cluster = { "certificate-authority": "ca", "tls-server-name": "k8s", extensions };
    return (await loadConfig(diskOf({ "/d/f": kubeconfig({ exec }, cluster) }), {}, { file: "/d/f" })).exec;
  };
  const v1 = "client.authentication.k8s.io/v1";
  const beta = { apiVersion: "client.authentication.k8s.io/v1beta1", command: "aws" };
  assert.deepEqual(await read(beta), { ...beta, args: [], env: {}, interactiveMode: "IfAvailable" });
  const given = {
    apiVersion: v1,
    command: "./login",
    args: ["--now"],
    env: [{ name: "A", value: "1" }],
    installHint: "get it",
    interactiveMode: "Never",
    provideClusterInfo: true,
  };
  assert.deepEqual(await read(given), {
    apiVersion: v1,
    command: "/d/login",
    args: ["--now"],
    env: { A: "1" },
    installHint: "get it",
    interactiveMode: "Never",
    cluster: {
      server: "https://k8s.example:6443",
      "tls-server-name": "k8s",
      "certificate-authority": "/d/ca",
      config: { audience: "a" },
    },
  });
  assert.equal(await problemOf(read({ apiVersion: v1, command: "aws" })), "incomplete", "no interactiveMode");
  assert.equal(
    await problemOf(read({ ...beta, apiVersion: "client.authentication.k8s.io/v1alpha1" })),
    "unsupported",
  );
  assert.equal(await problemOf(read({ ...beta, command: "" })), "incomplete");
  assert.equal(await problemOf(read({ ...beta, args: "x" })), "unreadable");
  assert.equal(await problemOf(read({ ...beta, env: [{ value: "x" }] })), "unreadable");
});

test("a proxy comes from the cluster entry, else from the environment", async () => {
  const proxyOf = async (cluster: object, env: Record<string, string>) =>
    (await loadConfig(diskOf({ "/f": kubeconfig({ token: "t" }, cluster) }), env, { file: "/f" })).proxy;
  const env = { HTTPS_PROXY: "proxy.example:3128", HTTP_PROXY: "http://other" };
  assert.equal(await proxyOf({ "proxy-url": "socks5://p:1080" }, env), "socks5://p:1080");
  assert.equal(await proxyOf({}, env), "http://proxy.example:3128");
  assert.equal(await proxyOf({ server: "http://k8s" }, env), "http://other");
  assert.equal(await proxyOf({}, {}), undefined);
});

test("NO_PROXY spares names, domains, addresses and networks; this machine needs no proxy", () => {
  const through = (server: string, spared: string) =>
    proxyFromEnvironment(server, { https_proxy: "http://p", no_proxy: spared }) !== undefined;
  assert.equal(through("https://127.0.0.1:6443", ""), false);
  assert.equal(through("https://localhost", ""), false);
  assert.equal(through("https://[::1]:6443", ""), false);
  assert.equal(through("https://k8s.example", "*"), false);
  assert.equal(through("https://k8s.example", "other, example"), false);
  assert.equal(through("https://k8s.example", ".example"), false);
  assert.equal(through("https://example", ".example"), true);
  assert.equal(through("https://k8s.example", "8s.example"), true);
  assert.equal(through("https://k8s.example:6443", "k8s.example:6443"), false);
  assert.equal(through("https://k8s.example:6443", "k8s.example:443"), true);
  assert.equal(through("https://10.1.2.3", "10.0.0.0/8"), false);
  assert.equal(through("https://10.1.2.3", "10.1.2.3"), false);
  assert.equal(through("https://11.1.2.3", "10.0.0.0/8,10.0.0.0/99,fd00::/8"), true);
  assert.equal(through("https://[fd00::1]", "fd00::/8"), false);
});

test("a token file is read again in time, at once after a refusal, and never lost for a moment's absence", async () => {
  const clock = new ManualClock();
  const files: Record<string, string> = { "/token": "one\n" };
  const identity = new Identity({ server: "https://x", token: { file: "/token" } }, diskOf(files), clock);
  const first = await identity.credentials();
  assert.equal(first.token, "one");
  files["/token"] = "two";
  assert.equal(await identity.credentials(), first, "not for each call");
  assert.equal(await identity.refused(first), true);
  const second = await identity.credentials();
  assert.equal(second.token, "two");
  assert.equal(await identity.refused(second), false, "the same again: nothing to try anew for");
  files["/token"] = "three";
  await clock.advance(31_000);
  assert.equal((await identity.credentials()).token, "three");
  delete files["/token"];
  await clock.advance(31_000);
  assert.equal((await identity.credentials()).token, "three");
  const none = new Identity({ server: "https://x", token: { file: "/no" } }, diskOf({}), clock);
  assert.equal(await problemOf(none.credentials()), "incomplete");
});
