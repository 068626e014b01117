import assert from "node:assert/strict";
import { test } from "node:test";
import type { Disk } from "../seams/disk.ts";
import { inCluster, KubeConfigError, loadConfig, type KubeConfigProblem } from "./config.ts";
import { Identity } from "./identity.ts";
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

test("what we cannot do is refused, by name", async () => {
  const tried = (text: string, context?: string) =>
    problemOf(loadConfig(diskOf({ "/f": text }), {}, { file: "/f", ...(context && { context }) }));
  assert.equal(await tried(kubeconfig({ exec: { command: "aws" } })), "plugin");
  assert.equal(await tried(kubeconfig({ "auth-provider": { name: "oidc" } })), "plugin");
  assert.equal(await tried(kubeconfig({ token: "t", as: "admin" })), "unsupported");
  assert.equal(await tried(kubeconfig({ token: "t" }, { "proxy-url": "http://p" })), "unsupported");
  assert.equal(await tried(kubeconfig({ "client-certificate-data": base64("C") })), "incomplete");
  assert.equal(await tried(kubeconfig({}), "no-such"), "no-context");
  assert.equal(await tried("a: [b"), "unreadable");
  assert.equal(await tried("just text"), "unreadable");
  assert.equal(await problemOf(loadConfig(diskOf({}), { HOME: "/h" })), "missing");
  assert.equal(await problemOf(loadConfig(diskOf({}), {})), "missing");
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
