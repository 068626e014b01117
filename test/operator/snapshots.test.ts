/**
 * EtcdSnapshots on a real API server, with the Jobs that Kubernetes makes of them: into a real S3 server and onto a
 * volume, restored with etcd's own tools, refused, and deleted with their objects.
 */
import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { Job } from "kubernetes-types/batch/v1.d.ts";
import type { EtcdSnapshotSchedule } from "../../src/api/etcd-snapshot-schedule.ts";
import type { EtcdSnapshot, EtcdSnapshotSpec, EtcdSnapshotStatus } from "../../src/api/etcd-snapshot.ts";
import { API_VERSION } from "../../src/api/metadata.ts";
import type { SnapshotPhase, VerificationPhase } from "../../src/api/status-words.ts";
import { isCode, type KubeObject } from "../../testbed/client.ts";
import { eventually } from "../../testbed/eventually.ts";
import type { TestTestbed } from "../../testbed/for-tests.ts";
import { PATHS } from "../support/kube-paths.ts";
import {
  ClusterOnBed,
  PATIENCE_MS,
  startOperator,
  upWithDefinitions,
  type Running,
} from "../support/operator.ts";
import { ownImage } from "../support/own-image.ts";
import { snapshot as quorateSnapshot } from "../support/snapshot-verbs.ts";
import { S3Server } from "../support/versitygw.ts";
import { PASSWORD_MARK } from "../support/passwords.ts";

const PATIENCE = { withinMs: PATIENCE_MS, everyMs: 100 };

let bed: TestTestbed;
let running: Running;
let server: S3Server;
let cluster: ClusterOnBed;

before(async () => {
  bed = await upWithDefinitions();
  running = startOperator(bed, ownImage(bed));
  server = await S3Server.start({ buckets: ["backups"], host: "127.0.0.2" });
  const secret = (name: string, stringData: Record<string, string>) =>
    bed.client.create(PATHS.secrets, {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name },
      stringData,
    } as KubeObject);
  const { AWS_ACCESS_KEY_ID = "", AWS_SECRET_ACCESS_KEY = "" } = server.env;
  await secret("right", { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY });
  await secret("wrong", { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY: "no" });
  await secret("key", { key: "0f".repeat(32) });
  cluster = new ClusterOnBed(bed, "demo", running);
  await cluster.create({ replicas: 1 });
  await cluster.converged(1);
  const { kv } = await cluster.etcd();
  for (let i = 0; i < 20; i++) await kv.put(`key/${i}`, `value ${i}`);
  // Its first time comes while the other tests run.
  await bed.client.create(PATHS.schedules, {
    apiVersion: API_VERSION,
    kind: "EtcdSnapshotSchedule",
    metadata: { name: "minutely" },
    spec: {
      cluster: "demo",
      schedule: "* * * * *",
      timeZone: "Europe/Berlin",
      destination: { s3: { ...bucket("right").s3, prefix: "scheduled" } },
      retention: { keepLast: 1 },
    },
  } as KubeObject);
});

after(async () => {
  await cluster?.close();
  await running?.stop();
  await server?.[Symbol.asyncDispose]();
  await bed?.down();
});

async function take(name: string, spec: Partial<EtcdSnapshotSpec>): Promise<void> {
  const metadata = { name, namespace: "default" };
  const manifest = { apiVersion: API_VERSION, kind: "EtcdSnapshot", metadata };
  await bed.client.create(PATHS.snapshots, { ...manifest, spec: { cluster: "demo", ...spec } } as KubeObject);
}

const bucket = (credentialsSecret: string) => ({
  s3: { bucket: "backups", prefix: "prod", endpoint: server.endpoint, credentialsSecret },
});

async function becomes(name: string, phase: SnapshotPhase): Promise<EtcdSnapshotStatus> {
  return await eventually(
    `snapshot ${name} is ${phase}`,
    async () => {
      const { status = {} } = await bed.client.get<EtcdSnapshot>(`${PATHS.snapshots}/${name}`);
      if (status.phase === phase) return status;
      throw new Error(
        `${status.phase} (${status.reason}): ${status.message}; ${running.log.slice(-3).join("\n")}`,
      );
    },
    PATIENCE,
  );
}

async function verificationIs(name: string, phase: VerificationPhase): Promise<EtcdSnapshotStatus> {
  return await eventually(
    `the verification of ${name} is ${phase}`,
    async () => {
      const { status = {} } = await bed.client.get<EtcdSnapshot>(`${PATHS.snapshots}/${name}`);
      if (status.verification?.phase === phase) return status;
      throw new Error(`${JSON.stringify(status.verification)}; ${running.log.slice(-3).join("\n")}`);
    },
    PATIENCE,
  );
}

async function deleted(name: string): Promise<void> {
  await bed.client.delete(`${PATHS.snapshots}/${name}`);
  await eventually(
    `snapshot ${name} is gone, after its object`,
    async () =>
      await bed.client.get(`${PATHS.snapshots}/${name}`).then(
        () => false,
        (error: unknown) => isCode(error, 404),
      ),
    PATIENCE,
  );
}

test("a snapshot of a running cluster goes into a bucket, and etcd's own tools restore it", async () => {
  await take("once", { destination: bucket("right") });
  const status = await becomes("once", "Succeeded");
  const { kv } = await cluster.etcd();
  const now = Number((await kv.get("key/0"))?.modRevision ?? 0n);
  assert.ok((status.revision ?? 0) >= now);
  assert.deepEqual(
    [status.reason, status.totalKeys, status.takenFrom, status.etcdVersion],
    ["Completed", 20, "demo-1", "3.6.16"],
  );
  const [object = ""] = readdirSync(join(server.dir, "data/backups/prod")).filter((one) =>
    one.endsWith(".db"),
  );
  assert.equal(status.uri, `s3://backups/prod/${object}`);
  const { out } = await quorateSnapshot([
    "verify",
    "--restore",
    join(server.dir, "data/backups/prod", object),
  ]);
  assert.match(out, new RegExp(status.sha256 ?? "none"));
  const ready = status.conditions?.find(({ type }) => type === "Ready");
  assert.equal(ready?.status, "True");
});

test("it is restored into a scratch etcd, found right, and the time that took is told", async () => {
  const status = await verificationIs("once", "Succeeded");
  assert.equal(status.phase, "Succeeded");
  assert.ok(status.verifiedAt && status.rto, status.verification?.message);
  assert.match(status.verification?.message ?? "", /20 keys, and their hash is the recorded one/);
  const verified = status.conditions?.find(({ type }) => type === "Verified");
  assert.equal(verified?.status, "True");
});

test("the Job has no token, no rights and no label that a selector of the cluster meets", async () => {
  const { job = "" } = await becomes("once", "Succeeded");
  const { spec } = await bed.client.get<Job & KubeObject>(`${PATHS.jobs}/${job}`);
  const { metadata, spec: pod } = spec?.template ?? {};
  assert.equal(pod?.serviceAccountName, "quorate-snapshot");
  assert.equal(pod?.automountServiceAccountToken, false);
  assert.equal(metadata?.labels?.["app.kubernetes.io/component"], "snapshot");
  assert.ok(!JSON.stringify(spec).includes(PASSWORD_MARK));
});

test("credentials that the store refuses fail the snapshot at once, and the status says so", async () => {
  await take("denied", { destination: bucket("wrong") });
  const { reason, message, uri } = await becomes("denied", "Failed");
  assert.equal(reason, "StoreDenied", message);
  assert.equal(uri, undefined);
});

test("a snapshot on a volume is compressed and encrypted, and is deleted with its EtcdSnapshot", async () => {
  const claim = {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name: "backups" },
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
  };
  await bed.client.create(PATHS.claims, claim as KubeObject);
  await take("held", {
    destination: { pvc: { claimName: "backups", path: "demo" } },
    compression: "Zstd",
    encryption: { keySecret: "key" },
    deletionPolicy: "Delete",
  });
  const { uri = "", size = 0, storedSize = 0 } = await becomes("held", "Succeeded");
  assert.match(uri, /^pvc:\/\/backups\/demo\/held-.*\.db\.zst\.enc$/);
  assert.ok(storedSize < size);
  await deleted("held");
  const deletes = running.log.filter((line) => line.startsWith("error") && /\bheld\b/.test(line));
  assert.deepEqual(deletes, []);
});

test("the object in a bucket is deleted before its EtcdSnapshot is gone", async () => {
  const objects = () =>
    readdirSync(join(server.dir, "data/backups/prod")).filter((one) => one.startsWith("brief-"));
  await take("brief", { destination: bucket("right"), deletionPolicy: "Delete" });
  const { uri = "" } = await becomes("brief", "Succeeded");
  assert.ok(objects().some((one) => uri === `s3://backups/prod/${one}`));
  await deleted("brief");
  assert.deepEqual(objects(), [], "neither the snapshot nor its manifest");
});

function flip(uri: string): void {
  const file = join(server.dir, "data", uri.slice("s3://".length));
  const bytes = readFileSync(file);
  const at = bytes.length >> 1;
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  writeFileSync(file, bytes);
}

test("a byte that is flipped in the store is found by the next verification", async () => {
  // Of its own: a damaged one is no source of a restore.
  await take("flipped", { destination: bucket("right") });
  const { uri = "" } = await verificationIs("flipped", "Succeeded");
  flip(uri);
  const annotations = { "etcd.quorate.dev/verify": "again" };
  await bed.client.patch(`${PATHS.snapshots}/flipped`, { metadata: { annotations } });
  const { phase, reason, message, verifiedAt } = await verificationIs("flipped", "Failed");
  assert.deepEqual([phase, reason, verifiedAt], ["Failed", "Damaged", undefined], message);
});

test("a schedule has taken a snapshot in the meantime, and the cluster is backed up", async () => {
  const { lastSnapshot = "", next } = await eventually(
    "the first snapshot of the schedule",
    async () => {
      const { status } = await bed.client.get<EtcdSnapshotSchedule>(`${PATHS.schedules}/minutely`);
      return status?.lastSuccessful !== undefined && status;
    },
    PATIENCE,
  );
  assert.match(lastSnapshot, /^minutely-\d+$/);
  assert.ok(Date.parse(next ?? "") > Date.now() - 60_000);
  await cluster.waitFor("BackedUp");
});

test("its snapshots are verified by schedule: a byte that is flipped in the store turns BackedUp False with the reason", async () => {
  const path = `${PATHS.schedules}/minutely`;
  await bed.client.patch(path, { spec: { schedule: "@yearly", verify: { schedule: "* * * * *" } } });
  const { lastSnapshot = "" } = await eventually(
    "the newest snapshot is verified, and no other is under way",
    async () => {
      const { metadata, status } = await bed.client.get<EtcdSnapshotSchedule>(path);
      const isSeen = status?.observedGeneration === metadata.generation && status?.active === undefined;
      return isSeen && status?.lastVerifiedSnapshot === status?.lastSnapshot && status;
    },
    PATIENCE,
  );
  const { uri = "" } = await verificationIs(lastSnapshot, "Succeeded");
  await cluster.waitFor("BackedUp");
  flip(uri);
  await cluster.waitFor("BackedUp", "False");
  const why = (await cluster.status()).conditions?.find(({ type }) => type === "BackedUp");
  assert.equal(why?.reason, "VerificationFailed");
  assert.ok(why?.message.includes(lastSnapshot), why?.message);
  const { phase, reason } = await verificationIs(lastSnapshot, "Failed");
  assert.deepEqual([phase, reason], ["Failed", "Damaged"]);
  await bed.client.delete(path);
});

test("members move to another minor version after a snapshot; one that fails holds them, and how to go on is told", async () => {
  const path = `${PATHS.schedules}/upgrades`;
  const spec = { cluster: "demo", schedule: "@yearly", destination: bucket("wrong") };
  const manifest = { apiVersion: API_VERSION, kind: "EtcdSnapshotSchedule", metadata: { name: "upgrades" } };
  await bed.client.create(PATHS.schedules, { ...manifest, spec } as KubeObject);
  await eventually(
    "the schedule is seen",
    async () => (await bed.client.get<EtcdSnapshotSchedule>(path)).status?.next !== undefined,
    PATIENCE,
  );
  await cluster.edit({ version: "3.7.3" });
  const failed = await eventually(
    "the upgrade waits for a snapshot that failed",
    async () => {
      const { conditions = [], approvals = [], version } = await cluster.status();
      const why = conditions.find(({ reason }) => reason === "SnapshotBeforeFailed");
      return why && { message: why.message, words: approvals.map(({ approval }) => approval), version };
    },
    PATIENCE,
  );
  assert.match(failed.message, /demo-before-3-7-\d+.*failed: .*approve demo without-snapshot-3\.7/s);
  assert.deepEqual(failed.words, ["without-snapshot-3.7"]);
  assert.equal(failed.version?.current, "3.6.16");
  await bed.client.patch(path, { spec: { destination: bucket("right") } });
  const name = /demo-before-3-7-\d+/.exec(failed.message)?.[0] ?? "";
  await bed.client.delete(`${PATHS.snapshots}/${name}`);
  await eventually(
    "the members run 3.7.3",
    async () => (await cluster.status()).version?.current === "3.7.3",
    PATIENCE,
  );
  const { items } = await bed.client.get<{ items: EtcdSnapshot[] } & KubeObject>(PATHS.snapshots);
  const taken = items.filter(({ metadata }) => metadata.name.startsWith("demo-before-3-7-"));
  assert.deepEqual(
    taken.map(({ status }) => [status?.phase, status?.etcdVersion]),
    [["Succeeded", "3.6.16"]],
  );
  await bed.client.delete(path);
});

test("a snapshot outlives its cluster, and one of a cluster that is gone is told so", async () => {
  await cluster.delete();
  await eventually(
    "the cluster is gone",
    async () =>
      await cluster.get().then(
        () => false,
        (error: unknown) => isCode(error, 404),
      ),
    PATIENCE,
  );
  await take("late", { destination: bucket("right") });
  const { reason } = await becomes("late", "Pending");
  assert.equal(reason, "ClusterNotFound");
  const { metadata } = await bed.client.get<EtcdSnapshot>(`${PATHS.snapshots}/once`);
  assert.equal(metadata.deletionTimestamp, undefined);
});

test("another cluster starts from the EtcdSnapshot by its name, although its own cluster is gone", async () => {
  const again = new ClusterOnBed(bed, "again", running);
  await again.create({ replicas: 1, bootstrap: { restore: { snapshot: "absent" } } });
  await eventually(
    "the missing EtcdSnapshot is told",
    async () => {
      const { conditions = [] } = await again.status();
      return conditions.some(
        ({ reason, message }) => reason === "RestoreFailed" && message.includes("no EtcdSnapshot absent"),
      );
    },
    PATIENCE,
  );
  await again.edit({ bootstrap: { restore: { snapshot: "once" } } });
  await again.converged(1);
  const { kv } = await again.etcd();
  assert.equal((await kv.range("key/", { prefix: true })).count, 20);
  await again.close();
});
