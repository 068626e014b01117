/**
 * Snapshots restored on a real API server, with real etcd and etcdutl in Pods of the stand-in kubelet and our command from
 * its sources: at first boot from a real S3 server, and from a file on a volume into memory; and in place.
 */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Pod, Service } from "kubernetes-types/core/v1.d.ts";
import { ANNOTATIONS, LABELS, RESTORE_CONTAINERS } from "../../src/operator/names.ts";
import type { Manifest } from "../../src/snapshot/manifest.ts";
import type { KubeObject } from "../../testbed/client.ts";
import { eventually } from "../../testbed/eventually.ts";
import type { TestTestbed } from "../../testbed/for-tests.ts";
import { PATHS } from "../support/kube-paths.ts";
import { KubectlEtcd } from "../support/kubectl-etcd.ts";
import { LocalCluster } from "../support/local-cluster.ts";
import {
  ClusterOnBed,
  PATIENCE_MS,
  startOperator,
  upWithDefinitions,
  type Running,
} from "../support/operator.ts";
import { OWN_IMAGE, ownImage } from "../support/own-image.ts";
import { EVERY_CASE } from "../support/sample.ts";
import { snapshot, snapshotJson } from "../support/snapshot-verbs.ts";
import { S3Server } from "../support/versitygw.ts";

const KEYS = 20;
/** How the others join the first one is the same as at first boot. */
const MEMBERS = EVERY_CASE ? 3 : 1;
const dir = mkdtempSync(path.join(os.tmpdir(), "quorate-restore-"));

let bed: TestTestbed;
let running: Running;
let kubectl: KubectlEtcd;
let server: S3Server;
let manifest: Manifest;

before(async () => {
  {
    await using source = await LocalCluster.start({ replicas: 1, version: "3.6.16" });
    const { kv } = await source.client();
    for (let i = 0; i < KEYS; i++) await kv.put(`key/${i}`, `value ${i}`);
    const [record] = await source.records();
    assert.ok(record);
    const endpoint = source.controller.platform.endpoint(record).url;
    manifest = await snapshotJson<Manifest>(["save", "--endpoints", endpoint, path.join(dir, "demo.db")]);
  }
  bed = await upWithDefinitions();
  kubectl = await KubectlEtcd.install(bed);
  running = startOperator(bed, ownImage(bed));
  server = await S3Server.start({ buckets: ["backups"], host: "127.0.0.2" });
  await snapshot(["copy", path.join(dir, "demo.db"), "s3://backups/prod/demo.db"], server.env);
  const { AWS_ACCESS_KEY_ID = "", AWS_SECRET_ACCESS_KEY = "" } = server.env;
  const stringData = { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY };
  const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "store" }, stringData };
  await bed.client.create(PATHS.secrets, secret as KubeObject);
});

after(async () => {
  await running?.stop();
  await server?.[Symbol.asyncDispose]();
  await bed?.down();
  kubectl?.[Symbol.dispose]();
  rmSync(dir, { recursive: true, force: true });
});

const from = (key: string, more: object = {}) => ({
  bootstrap: {
    restore: {
      source: { s3: { bucket: "backups", key, endpoint: server.endpoint, credentialsSecret: "store" } },
      ...more,
    },
  },
});

test("a wrong object and a wrong checksum are said with their fields; put right, three members hold all of it", async () => {
  const cluster = new ClusterOnBed(bed, "restored", running);
  await cluster.create({ replicas: 3, ...from("prod/missing.db") });
  const told = async (what: RegExp) => {
    let seen = "";
    const look = async () => {
      const { conditions = [] } = await cluster.status();
      seen = conditions.map(({ reason, message }) => `${reason}: ${message}`).join("\n");
      return conditions.some(({ reason, message }) => reason === "RestoreFailed" && what.test(message));
    };
    await eventually(String(what), look, { withinMs: PATIENCE_MS }).catch(async (error: unknown) => {
      const pods = (await cluster.pods()).map(({ status }) => status);
      throw new Error(`${String(error)}\n${seen}\n${JSON.stringify(pods, undefined, 1)}`);
    });
  };
  await told(/spec\.bootstrap\.restore\.source\.s3\.key.*there is no snapshot/);
  await cluster.edit(from("prod/demo.db", { checksum: "0".repeat(64) }));
  await told(/spec\.bootstrap\.restore\.checksum/);
  await cluster.edit(from("prod/demo.db", { checksum: manifest.sha256 }));
  await cluster.converged(3);
  await cluster.assertSound(3);
  const { kv } = await cluster.etcd();
  const all = await kv.range("key/", { prefix: true });
  assert.equal(all.count, KEYS);
  assert.ok(Number(all.header.revision) >= manifest.revision + 1_000_000_000);

  // Its containers would do nothing again, and a new Pod of it has none; what was written since stays.
  await kv.put("since", "kept");
  const founder =
    (await cluster.members()).find(({ spec }) => spec.restore !== undefined)?.metadata.name ?? "";
  const podOf = async () => (await cluster.pods()).find(({ metadata }) => metadata?.name === founder);
  const first = await podOf();
  assert.equal(first?.metadata?.annotations?.[ANNOTATIONS.restore], "--help");
  assert.deepEqual(
    first?.spec?.initContainers?.map(({ name }) => name),
    Object.values(RESTORE_CONTAINERS),
  );
  await cluster.deletePod(founder);
  await eventually(
    "another Pod",
    async () => {
      const uid = (await podOf())?.metadata?.uid;
      return uid !== undefined && uid !== first?.metadata?.uid;
    },
    { withinMs: PATIENCE_MS },
  );
  await cluster.converged(3);
  assert.equal((await podOf())?.spec?.initContainers, undefined);
  assert.equal(Buffer.from((await kv.get("since"))?.value ?? "").toString(), "kept");
  await cluster.close();
});

/** Watches on over every break of the connection, from where it was, until etcd says that this is compacted. */
async function watchedUntilCompacted(
  cluster: ClusterOnBed,
  revision: number,
  signal: AbortSignal,
): Promise<string[]> {
  const seen: string[] = [];
  let next = BigInt(revision);
  for (;;) {
    signal.throwIfAborted();
    try {
      const { watches } = await cluster.etcd();
      // Who is dialled may be gone for good: others are looked for now and then.
      const until = AbortSignal.any([signal, AbortSignal.timeout(5_000)]);
      for await (const batch of watches.watch("since", { startRevision: next, signal: until }))
        for (const { kv } of batch.type === "events" ? batch.events : []) {
          seen.push(Buffer.from(kv.value).toString());
          next = kv.modRevision + 1n;
        }
    } catch (error) {
      if (/compacted/.test(String(error))) return seen;
      await sleep(200);
    }
  }
}

/** The Pods that would be endpoints of the client Service now; there are no EndpointSlices without real nodes. */
async function servedOf(cluster: string): Promise<string[]> {
  const { spec } = await bed.client.get<Service>(`${PATHS.services}/${cluster}-client`);
  const selector = Object.entries(spec?.selector ?? {}).map(([key, value]) => `${key}=${value}`);
  const query = `?labelSelector=${encodeURIComponent(selector.join(","))}`;
  const { items } = await bed.client.get<{ items: Pod[] }>(`${PATHS.pods}${query}`);
  const isReady = ({ metadata, status }: Pod) =>
    metadata?.deletionTimestamp === undefined &&
    status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True") === true;
  return items.filter(isReady).map(({ metadata }) => metadata?.uid ?? "");
}

/** Looks again and again whom clients are led to, until told to stop; each set of Pods once. */
async function servedMeanwhile(cluster: string, signal: AbortSignal): Promise<string[][]> {
  const seen: string[][] = [];
  while (!signal.aborted) {
    const now = (await servedOf(cluster)).toSorted();
    if (now.join() !== seen.at(-1)?.join()) seen.push(now);
    await sleep(100);
  }
  return seen;
}

test("in place: what is wrong stops nobody; the approved plan replaces all data, and a watcher sees a compaction", async (t) => {
  const cluster = new ClusterOnBed(bed, "inplace", running);
  await cluster.create({ replicas: MEMBERS });
  await cluster.converged(MEMBERS);
  const { kv } = await cluster.etcd();
  await kv.put("key/0", "not of the snapshot");
  const { source } = from("prod/demo.db").bootstrap.restore;
  const planFor = async (name: string, restore: object) => {
    await cluster.ask(name, { restore } as Parameters<ClusterOnBed["ask"]>[1]);
    const { reason, message = "" } = await cluster.operationIs(name, "Rejected");
    assert.equal(reason, "ApprovalNeeded", message);
    return { ...restore, approve: /approve: ([0-9a-f]{16})/.exec(message)?.[1] ?? "" };
  };
  const isMember = ({ metadata }: Pod) => metadata?.labels?.[LABELS.task] === undefined;
  const uids = async () =>
    (await cluster.pods())
      .filter(isMember)
      .map(({ metadata }) => metadata?.uid ?? "")
      .toSorted();
  const before = await uids();
  const wrong = await planFor("wrong-plan", { source, checksum: "0".repeat(64) });
  await cluster.ask("wrong", { restore: wrong });
  const failed = await cluster.operationIs("wrong", "Failed");
  assert.match(failed.message ?? "", /no data was changed: .* was expected/);

  const { header } = await kv.put("since", "lost by the restore");
  const seen = Number(header.revision);
  const left = new AbortController();
  t.after(() => left.abort());
  const watching = watchedUntilCompacted(cluster, seen, left.signal);
  // Whatever else fails first is what is told.
  watching.catch(() => undefined);
  const { endpoint } = server;
  const right = `restore s3://backups/prod/demo.db inplace --checksum ${manifest.sha256} --endpoint ${endpoint} --credentials-secret store`;
  const { code, err: plan } = await kubectl.run(right.split(" "));
  assert.equal(code, 6, plan);
  assert.deepEqual(await uids(), before, "nobody was stopped so far");
  const serving = servedMeanwhile("inplace", left.signal);
  serving.catch(() => undefined);
  const approved = `${right} --plan ${/^Plan ([0-9a-f]{16}): /.exec(plan)?.[1]} --yes`;
  const { err } = await kubectl.done(
    approved,
    /^Restored s3:\/\/backups\/prod\/demo\.db, whose revision was/,
  );
  assert.match(err, /Fetched and checked s3:/);
  await cluster.converged(MEMBERS);
  await cluster.assertSound(MEMBERS);
  const { kv: now } = await cluster.etcd();
  const all = await now.range("\0", { rangeEnd: "\0", timeoutMs: 5_000 });
  assert.equal(all.count, KEYS, "what the snapshot had, and nothing else");
  assert.ok(Number(all.header.revision) >= seen + 1_000_000_000, `revision ${all.header.revision}`);
  assert.deepEqual(await watching, ["lost by the restore"], "the past is never seen again");
  const kept = (await cluster.claims()).map(({ metadata }) => metadata?.name);
  for (let member = 1; member <= 2 * MEMBERS; member++)
    assert.ok(kept.includes(`data-inplace-${member}`), `the volume of member ${member} is kept`);
  await eventually("no Pod of the restore is left", async () => (await cluster.pods()).every(isMember));
  // Members of a former life get no client, wherever they may run again.
  await eventually("the client Service asks for the present life", async () => {
    const { spec } = await bed.client.get<Service>(`${PATHS.services}/inplace-client`);
    return spec?.selector?.[LABELS.life] === "2";
  });
  for (const { metadata } of await cluster.pods()) assert.equal(metadata?.labels?.[LABELS.life], "2");
  // Between the two lives clients are led nowhere, and never to members of both.
  left.abort();
  const led = await serving;
  const isFormer = (uid: string) => before.includes(uid);
  const gap = led.findIndex((uids) => uids.length === 0);
  assert.ok(gap > 0 && gap < led.length - 1, `led to ${JSON.stringify(led)}`);
  assert.ok(led.slice(0, gap).every((uids) => uids.every(isFormer)));
  assert.ok(led.slice(gap).every((uids) => !uids.some(isFormer)));
  await cluster.close();
});

test("a file on a volume is restored into memory", async () => {
  const claim = {
    accessModes: ["ReadWriteOnce"],
    storageClassName: "standard",
    resources: { requests: { storage: "1Gi" } },
  };
  const named = (name: string) => ({ apiVersion: "v1", metadata: { name, namespace: "default" } });
  await bed.client.create(PATHS.claims, {
    ...named("backups"),
    kind: "PersistentVolumeClaim",
    spec: claim,
  } as KubeObject);
  const filler = {
    restartPolicy: "Never",
    containers: [
      {
        name: "copy",
        image: OWN_IMAGE,
        args: ["snapshot", "copy", "s3://backups/prod/demo.db", "/snapshots/prod/demo.db"],
        env: Object.entries(server.env)
          .filter(([name]) => !/^AWS_(?:ACCESS_KEY_ID|SECRET_ACCESS_KEY)$/.test(name))
          .map(([name, value]) => ({ name, value })),
        envFrom: [{ secretRef: { name: "store" } }],
        volumeMounts: [{ name: "backups", mountPath: "/snapshots" }],
      },
    ],
    volumes: [{ name: "backups", persistentVolumeClaim: { claimName: "backups" } }],
  };
  await bed.client.create(PATHS.pods, { ...named("filler"), kind: "Pod", spec: filler } as KubeObject);
  await eventually("the snapshot is on the volume", async () => {
    const { status } = await bed.client.get<Pod>(`${PATHS.pods}/filler`);
    return status?.phase === "Succeeded";
  });
  await bed.client.delete(`${PATHS.pods}/filler`, {});
  const cluster = new ClusterOnBed(bed, "inmemory", running);
  await cluster.create({
    replicas: 1,
    storage: { medium: "Memory", size: "1Gi" },
    bootstrap: { restore: { source: { pvc: { claimName: "backups", path: "prod/demo.db" } } } },
  });
  await cluster.converged(1);
  const { kv } = await cluster.etcd();
  assert.equal((await kv.range("key/", { prefix: true })).count, KEYS);
  await cluster.close();
});

const HOSTED = { medium: "HostPath", size: "1Gi", hostPath: "/var/lib/quorate" } as const;

for (const storage of EVERY_CASE ? [{ medium: "Ephemeral", size: "1Gi" } as const, HOSTED] : [])
  test(`${storage.medium}: a snapshot in a store is restored there`, async () => {
    const cluster = new ClusterOnBed(bed, `on-${storage.medium.toLowerCase()}`, running);
    await cluster.create({ replicas: MEMBERS, storage, ...from("prod/demo.db") });
    await cluster.converged(MEMBERS);
    await cluster.assertSound(MEMBERS);
    const { kv } = await cluster.etcd();
    assert.equal((await kv.range("key/", { prefix: true })).count, KEYS);
    await cluster.close();
  });

if (EVERY_CASE)
  test("in place, in directories of nodes: the approved plan replaces all data", async () => {
    const cluster = new ClusterOnBed(bed, "hosted", running);
    await cluster.create({ replicas: MEMBERS, storage: HOSTED });
    await cluster.converged(MEMBERS);
    const { kv } = await cluster.etcd();
    await kv.put("since", "lost by the restore");
    const asked = `restore s3://backups/prod/demo.db hosted --endpoint ${server.endpoint} --credentials-secret store`;
    const { err } = await kubectl.run(asked.split(" "));
    const plan = /^Plan ([0-9a-f]{16}): /.exec(err)?.[1] ?? assert.fail(err);
    await kubectl.done(`${asked} --plan ${plan} --yes`, /^Restored s3:\/\/backups\/prod\/demo\.db/);
    await cluster.converged(MEMBERS);
    await cluster.assertSound(MEMBERS);
    const all = await (await cluster.etcd()).kv.range("\0", { rangeEnd: "\0", timeoutMs: 5_000 });
    assert.equal(all.count, KEYS, "what the snapshot had, and nothing else");
    await cluster.close();
  });

test("the restore in place was asked for through kubectl", async () => {
  await kubectl.assertProven(import.meta.filename);
});
