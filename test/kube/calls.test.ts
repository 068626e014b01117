/**
 * The calls of src/kube on a real API server: what a stale cache would do to others and does not (H9), what errors
 * are called, tokens that are replaced, leases with a frozen holder, events.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { Deployment } from "kubernetes-types/apps/v1.d.ts";
import type { KubeClient } from "../../src/kube/client.ts";
import { ensure } from "../../src/kube/ensure.ts";
import { isReason, KubeError, type KubeReason } from "../../src/kube/errors.ts";
import { EventRecorder } from "../../src/kube/events.ts";
import { Lease } from "../../src/kube/lease.ts";
import { configMaps, resource, services } from "../../src/kube/resources.ts";
import type { Http2Transport } from "../../src/kube/transport.ts";
import { systemClock } from "../../src/seams/clock.ts";
import { systemRandom } from "../../src/seams/random.ts";
import { isCode } from "../../testbed/client.ts";
import { eventually } from "../../testbed/eventually.ts";
import { upForTests, type TestTestbed } from "../../testbed/for-tests.ts";
import { bedPaths } from "../../testbed/paths.ts";
import { pkiFiles } from "../../testbed/pki.ts";
import { clientOn, configOf, transportTo } from "../support/kube-runtime.ts";

const NAMESPACE = "default";
const CONFIG_MAPS = `/api/v1/namespaces/${NAMESPACE}/configmaps`;

let bed: TestTestbed;
let transport: Http2Transport;
let client: KubeClient;

before(async () => {
  bed = await upForTests();
  transport = transportTo(configOf(bed));
  client = clientOn(transport);
});

after(async () => {
  await transport?.close();
  await bed?.down();
});

const at = (name: string) => ({ name, namespace: NAMESPACE });

function configMap(name: string, data: Record<string, string> = {}) {
  return { metadata: at(name), data };
}

async function refusedAs(reason: KubeReason, call: Promise<unknown>): Promise<KubeError> {
  const [settled] = await Promise.allSettled([call]);
  assert.equal(settled.status, "rejected", `expected ${reason}`);
  assert.ok(isReason(settled.reason, reason), String(settled.reason));
  return settled.reason;
}

test("H9: an apply without a UID brings a deleted object back; ours with a UID does not", async () => {
  const made = await client.create(configMaps, configMap("upsert", { n: "1" }));
  const { uid = "" } = made.metadata ?? {};
  assert.equal(await client.delete(configMaps, at("upsert"), { uid }), "gone");
  await bed.client.apply(`${CONFIG_MAPS}/upsert`, {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "upsert" },
    data: { n: "2" },
  });
  const back = await client.get(configMaps, at("upsert"));
  assert.notEqual(back.metadata?.uid, uid, "the hazard: it is there again, as another object");

  const ours = { metadata: { ...at("upsert"), uid }, data: { n: "3" } };
  await refusedAs("Conflict", client.apply(configMaps, ours));
  assert.equal(
    (await client.get(configMaps, at("upsert"))).data?.["n"],
    "2",
    "a stranger's object is left alone",
  );
  await refusedAs("Conflict", client.patch(configMaps, at("upsert"), { data: { n: "3" } }, { uid }));
  await refusedAs("Conflict", client.delete(configMaps, at("upsert"), { uid }));

  await client.delete(configMaps, at("upsert"), { uid: back.metadata?.uid ?? "" });
  const gone = await client.apply(configMaps, ours).catch((error: unknown) => error);
  assert.ok(isReason(gone, "Conflict", "NotFound"), String(gone));
  assert.equal(await client.find(configMaps, at("upsert")), undefined, "nothing was brought back");
});

test("writes are refused in another state than the one they were decided on", async () => {
  const first = await client.create(configMaps, configMap("state", { n: "1" }));
  await refusedAs("AlreadyExists", client.create(configMaps, configMap("state")));
  const second = await client.replace(configMaps, { ...first, data: { n: "2" } });
  await refusedAs("Conflict", client.replace(configMaps, { ...first, data: { n: "3" } }));
  const { uid = "", resourceVersion = "" } = first.metadata ?? {};
  await refusedAs("Conflict", client.delete(configMaps, at("state"), { uid, resourceVersion }));
  await refusedAs("NotFound", client.get(configMaps, at("no-such")));
  assert.equal(await client.delete(configMaps, at("no-such"), { uid }), "gone");
  const applied = await client.apply(configMaps, { metadata: { ...at("state"), uid }, data: { other: "x" } });
  assert.equal(applied.data?.["n"], "2", "fields of others stay");
  assert.equal(applied.metadata?.managedFields, undefined);
  assert.notEqual(applied.metadata?.resourceVersion, second.metadata?.resourceVersion);
  await bed.client.apply(`${CONFIG_MAPS}/state`, {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "state" },
    data: { other: "theirs" },
  });
  const wanted = { metadata: { ...at("state"), uid }, data: { other: "ours" } };
  const conflict = await refusedAs("Conflict", client.apply(configMaps, wanted, { force: false }));
  assert.equal(conflict.causes[0]?.field, ".data.other");
  assert.equal((await client.apply(configMaps, wanted)).data?.["other"], "ours");
});

test("an invalid object names each field that is wrong", async () => {
  const error = await refusedAs(
    "Invalid",
    client.create(services, {
      metadata: at("bad"),
      spec: { ports: [{ port: 0 }], sessionAffinity: "Sometimes" },
    }),
  );
  const fields = error.causes.map(({ field }) => field);
  for (const field of ["spec.ports[0].port", "spec.sessionAffinity"])
    assert.ok(fields.includes(field), `${field} is not in ${fields.join(", ")}`);
  assert.match(error.message, /POST \/api\/v1\/.*: 422 .*; correct the object/);
});

test("status and scale are written through their subresources", async () => {
  const made = await client.create(services, {
    metadata: at("balanced"),
    spec: { type: "LoadBalancer", ports: [{ port: 80 }] },
  });
  const status = { loadBalancer: { ingress: [{ ip: "192.0.2.7" }] } };
  const { uid = "" } = made.metadata ?? {};
  const written = await client.patchStatus(services, at("balanced"), status, { uid });
  assert.equal(written.status?.loadBalancer?.ingress?.[0]?.ip, "192.0.2.7");

  const deployments = resource<Deployment>("apps/v1", "Deployment", "deployments");
  const labels = { app: "scaled" };
  await client.create(deployments, {
    metadata: at("scaled"),
    spec: {
      paused: true,
      replicas: 0,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: "c", image: "none" }] } },
    },
  });
  await client.setScale(deployments, at("scaled"), 1);
  assert.equal((await client.scale(deployments, at("scaled"))).spec?.replicas, 1);
});

test("what has to exist is made once, mended, left alone when it is right, and never taken from others", async () => {
  const isOurs = (object: { metadata?: { labels?: Record<string, string> } }) =>
    object.metadata?.labels?.["owner"] === "us";
  const wanted = (data: Record<string, string>) => ({
    metadata: { ...at("wanted"), labels: { owner: "us" } },
    data,
  });
  const stamp = "test.quorate.dev/applied";
  const once = async (data: Record<string, string>) => {
    const known = await client.find(configMaps, at("wanted"));
    return (await ensure(client, configMaps, { wanted: wanted(data), known, isOurs, stamp })).done;
  };
  assert.equal(await once({ a: "1", b: "2" }), "created");
  assert.equal(await once({ b: "2", a: "1" }), "unchanged");
  assert.equal(await once({ a: "1" }), "applied");
  assert.deepEqual((await client.get(configMaps, at("wanted"))).data, { a: "1" }, "b is let go");
  const behind = await ensure(client, configMaps, {
    wanted: wanted({ a: "1" }),
    known: undefined,
    isOurs,
    stamp,
  });
  assert.equal(behind.done, "unchanged", "a cache that is behind does no harm");

  await bed.client.create(CONFIG_MAPS, configMap("strange"));
  const foreign = await ensure(client, configMaps, {
    wanted: { metadata: { ...at("strange"), labels: { owner: "us" } }, data: { a: "1" } },
    known: undefined,
    isOurs,
    stamp,
  });
  assert.equal(foreign.done, "foreign");
  assert.equal((await client.get(configMaps, at("strange"))).data, undefined);
});

test("a token that was replaced on disk is used from the next call on, without a new connection", async () => {
  const dir = await mkdtemp(join(tmpdir(), "quorate-token-"));
  const file = join(dir, "token");
  await writeFile(file, "expired");
  const reloading = transportTo(configOf(bed, { token: { file } }));
  try {
    const own = clientOn(reloading);
    const refused = await refusedAs("Unauthorized", own.get(configMaps, at("kube-root-ca.crt")));
    assert.match(refused.message, /check the token/);
    await writeFile(file, bed.access.token ?? "");
    await own.get(configMaps, at("kube-root-ca.crt"));
    assert.equal(reloading.connections, 1);
  } finally {
    await reloading.close();
    await rm(dir, { recursive: true });
  }
});

test("a client certificate logs in as well; a server whose authority we do not know is not talked to", async () => {
  const pki = pkiFiles(bedPaths(bed.name).pki);
  const { server, ca = "" } = bed.access;
  const cert = { file: pki.kubeletClientCert };
  const key = { file: pki.kubeletClientKey };
  const certified = transportTo({ server, ca: { text: ca }, cert, key });
  const trusting = transportTo({
    server,
    ca: { text: readFileSync(pki.kubeletClientCert, "utf8") },
    cert,
    key,
  });
  try {
    await clientOn(certified).get(configMaps, at("kube-root-ca.crt"));
    const error = await refusedAs("Unreachable", clientOn(trusting).get(configMaps, at("kube-root-ca.crt")));
    assert.equal((error.cause as { why?: string }).why, "untrusted-server");
  } finally {
    await certified.close();
    await trusting.close();
  }
});

test("of two holders, one of them frozen, both never believe to lead at the same time", async (t) => {
  const name = "frozen";
  const { server, ca = "", token = "" } = bed.access;
  const script = join(import.meta.dirname, "lease-child.ts");
  const child = spawn(process.execPath, [script, server, ca, token, name, "child"], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  t.after(() => child.kill("SIGKILL"));
  const beliefs: number[] = [];
  child.stdout.on("data", (chunk: Buffer) => beliefs.push(...String(chunk).trim().split("\n").map(Number)));
  await eventually("the child leads", () => beliefs.length > 0);

  const ours: number[] = [];
  const lease = new Lease({
    client,
    clock: systemClock,
    random: systemRandom,
    namespace: NAMESPACE,
    name,
    identity: "parent",
    durationMs: 6_000,
    retryMs: 500,
    onElected: () => undefined,
  });
  const looking = setInterval(() => {
    if ((lease.term?.remainingMs() ?? 0) > 0) ours.push(Date.now());
  }, 5);
  t.after(() => clearInterval(looking));
  lease.start();
  await eventually("the child renewed", () => beliefs.length > 100);
  assert.equal(ours.length, 0);
  child.kill("SIGSTOP");
  const frozen = Date.now();
  await eventually("we lead", () => ours.length > 0);
  child.kill("SIGCONT");
  t.diagnostic(`taken over after ${(ours[0] ?? 0) - frozen} ms`);
  await eventually("the child has looked around", () => Date.now() - (ours[0] ?? 0) > 1_500);
  assert.ok(Math.max(...beliefs) < (ours[0] ?? 0), "the child still believed to lead after we had begun");

  await lease.stop();
  const handedOver = Date.now();
  const again = await eventually("the child leads again", () =>
    beliefs.find((time) => time > (ours[0] ?? 0)),
  );
  assert.ok(again >= (ours.at(-1) ?? 0));
  t.diagnostic(`handed over in ${again - handedOver} ms`);
  child.stdin.end();
});

test("events are reported, and counted when they come again", async (t) => {
  const regarding = await client.get(configMaps, at("kube-root-ca.crt"));
  const recorder = new EventRecorder({
    client,
    clock: systemClock,
    random: systemRandom,
    controller: "quorate.dev/test",
    instance: "test-1",
    log: (_, message) => t.diagnostic(message),
  });
  const wish = { regarding, type: "Normal", reason: "Tried", action: "Try", note: "it was tried" } as const;
  recorder.record(wish);
  const list = `/apis/events.k8s.io/v1/namespaces/${NAMESPACE}/events?fieldSelector=reason=Tried`;
  const reported = async () =>
    (await bed.client.get<{ items: { note: string; series?: { count: number } }[] }>(list)).items;
  await eventually("the event is there", async () => (await reported()).length === 1);
  for (let i = 0; i < 4; i++) recorder.record(wish);
  await recorder.stop(30_000);
  const items = await reported();
  assert.equal(items.length, 1);
  assert.equal(items[0]?.series?.count, 5);
  assert.equal(recorder.dropped, 0);
});

test("a call that is ended from our side is Cancelled, and the connection goes on", async () => {
  const ending = new AbortController();
  const call = client.list(configMaps, {}, { signal: ending.signal });
  ending.abort(new Error("enough"));
  await refusedAs("Cancelled", call);
  await client.list(configMaps, { namespace: NAMESPACE });
  assert.equal(transport.connections, 1);
  await assert.rejects(bed.client.get(`${CONFIG_MAPS}/no-such`), (error) => isCode(error, 404));
});
