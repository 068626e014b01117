/**
 * EtcdSnapshots and schedules on one machine, with real etcd and the command as processes of the controller: on demand,
 * by a schedule whose minutes the test lets pass, verified, pruned, refused by their store, and before an upgrade.
 */
import assert from "node:assert/strict";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import process from "node:process";
import { after, before, test } from "node:test";
import type { EtcdSnapshotSchedule } from "../../src/api/etcd-snapshot-schedule.ts";
import type { EtcdSnapshot } from "../../src/api/etcd-snapshot.ts";
import { API_VERSION } from "../../src/api/metadata.ts";
import { etcdOf } from "../support/etcd-cluster.ts";
import { CLUSTER, LocalCluster } from "../support/local-cluster.ts";
import { ask, ended, operations, subjectOf } from "../support/local-operations.ts";

const MINUTE = 60_000;

let local: LocalCluster;
let denying: Server;
let aheadMs = 0;

before(async () => {
  await Promise.all(["3.6.16", "3.7.3"].map(etcdOf));
  denying = createServer((_request, response) => {
    response.writeHead(403, { "content-type": "application/xml" });
    response.end("<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>");
  });
  await new Promise<void>((resolve) => denying.listen(0, "127.0.0.1", resolve));
  const { HOME, QUORATE_CACHE } = process.env;
  const credentials = { AWS_ACCESS_KEY_ID: "nobody", AWS_SECRET_ACCESS_KEY: "nothing" };
  local = await LocalCluster.start(
    { replicas: 1, version: "3.6.16", tls: { mode: "Managed" } },
    { aheadMs: () => aheadMs, env: { HOME, QUORATE_CACHE, ...credentials } },
  );
  const { kv } = await local.client();
  for (let i = 0; i < 20; i++) await kv.put(`key/${i}`, `value ${i}`);
});

after(async () => {
  await local?.[Symbol.asyncDispose]();
  denying?.closeAllConnections();
  denying?.close();
});

const folder = (name: string) => path.join(local.files.dir, name);
const file = (name: string) => ({ file: { path: folder(name) } });
const refused = () => ({
  s3: { bucket: "backups", endpoint: `http://127.0.0.1:${(denying.address() as AddressInfo).port}` },
});

async function apply(
  kind: "EtcdSnapshot" | "EtcdSnapshotSchedule",
  name: string,
  spec: object,
  annotations = {},
) {
  const metadata = { name, annotations };
  const manifest = { apiVersion: API_VERSION, kind, metadata, spec: { cluster: CLUSTER, ...spec } };
  return await operations.applySnapshot(subjectOf(local), manifest);
}

async function snapshots(): Promise<readonly EtcdSnapshot[]> {
  return (await operations.listSnapshots(subjectOf(local), "EtcdSnapshot")) as readonly EtcdSnapshot[];
}

async function schedule(name: string): Promise<EtcdSnapshotSchedule | undefined> {
  const all = await operations.listSnapshots(subjectOf(local), "EtcdSnapshotSchedule");
  return (all as readonly EtcdSnapshotSchedule[]).find(({ metadata }) => metadata.name === name);
}

/** Waits for one that is as wanted, while the controller works. */
async function becomes(
  what: string,
  isRight: (snapshot: EtcdSnapshot) => boolean,
): Promise<NonNullable<EtcdSnapshot["status"]>> {
  let found: EtcdSnapshot | undefined;
  await local.until(what, async () => (found = (await snapshots()).find(isRight)) !== undefined);
  return found?.status ?? {};
}

const condition = (type: string) =>
  local.controller.loop.latest?.status.conditions?.find((one) => one.type === type);
const objectsIn = (name: string) => readdirSync(folder(name)).filter((one) => one.endsWith(".db"));
const isBefore37 = ({ metadata }: EtcdSnapshot) => metadata.name.includes("-before-3-7-");

test("a snapshot is taken once into a directory, verified by a restore, and deleted with its object", async () => {
  await apply("EtcdSnapshot", "once", { destination: file("own"), deletionPolicy: "Delete" });
  const status = await becomes(
    "the snapshot is verified",
    ({ metadata, status: { verifiedAt } = {} }) => metadata.name === "once" && verifiedAt !== undefined,
  );
  assert.deepEqual(
    [status.phase, status.reason, status.totalKeys, status.takenFrom, status.etcdVersion],
    ["Succeeded", "Completed", 20, "demo-1", "3.6.16"],
  );
  assert.match(status.verification?.message ?? "", /20 keys, and their hash is the recorded one/);
  const [object = ""] = objectsIn("own");
  assert.equal(status.uri, `file://${folder("own")}/${object}`);
  await operations.deleteSnapshot(subjectOf(local), { kind: "EtcdSnapshot", name: "once" });
  await local.until("it is gone, after its object", async () => (await snapshots()).length === 0);
  assert.deepEqual(readdirSync(folder("own")), []);
});

test("a schedule records changes with a process, takes the snapshot to begin with, and a revision between is built and restored in place", async () => {
  const key = local.files.encryptionKey("recorded-key");
  mkdirSync(path.dirname(key), { recursive: true });
  writeFileSync(key, "0f".repeat(32));
  await apply("EtcdSnapshotSchedule", "recording", {
    schedule: "@yearly",
    destination: file("recorded"),
    encryption: { keySecret: "recorded-key" },
    incremental: { interval: "1s" },
  });
  const recorded = (what: string, revision: bigint) =>
    local.until(what, async () => {
      const { incremental } = (await schedule("recording"))?.status ?? {};
      return incremental?.reason === "Following" && (incremental.revision ?? 0) >= revision;
    });
  await recorded("the follower begins with a snapshot", 1n);
  const { kv } = await local.client();
  const { header } = await kv.put("recorded/1", "first");
  const { header: last } = await kv.put("recorded/1", "second");
  await recorded("the changes are in the store", last.revision);
  const encryption = { keySecret: "recorded-key" };
  const pointInTime = { revision: Number(header.revision) };
  await apply("EtcdSnapshot", "point", { destination: file("recorded"), encryption, pointInTime });
  const { revision } = await becomes(
    "the point is built and verified",
    ({ metadata, status: { verifiedAt } = {} }) => metadata.name === "point" && verifiedAt !== undefined,
  );
  assert.equal(BigInt(revision ?? 0), header.revision);
  const restore = { pointInTime: { ...pointInTime, schedule: "recording" } };
  await ask(local, "plan", { restore });
  const { message = "" } = await ended(local, "plan");
  const approve = /approve: ([0-9a-f]{16})/.exec(message)?.[1] ?? "";
  await ask(local, "back", { restore: { ...restore, approve } });
  const outcome = await ended(local, "back");
  assert.equal(outcome.phase, "Succeeded", outcome.message);
  await local.until("it serves", () => local.controller.loop.latest?.decision.converged === true);
  const [found] = (await (await local.client()).kv.range("recorded/1")).kvs;
  assert.equal(Buffer.from(found?.value ?? []).toString(), "first", "what came after is undone");
  const points = async () => (await snapshots()).filter(({ metadata }) => metadata.name.includes("-point-"));
  await local.until("what was built for it is gone", async () => (await points()).length === 0);
  await operations.deleteSnapshot(subjectOf(local), { kind: "EtcdSnapshotSchedule", name: "recording" });
  const reports = () => readdirSync(local.files.snapshotJobs).filter((one) => one.endsWith(".report"));
  await local.until("the process has ended", () => reports().length === 0);
  for (const { metadata } of await snapshots())
    await operations.deleteSnapshot(subjectOf(local), { kind: "EtcdSnapshot", name: metadata.name });
});

test("what one machine does not have is refused, and a name that is taken by no cluster here", async () => {
  await assert.rejects(
    apply("EtcdSnapshot", "claimed", { destination: { pvc: { claimName: "backups" } } }),
    /spec\.destination\.pvc: one machine has no PersistentVolumeClaims/,
  );
  await assert.rejects(
    apply("EtcdSnapshot", "other", { cluster: "other", destination: file("own") }),
    /spec\.cluster: the directory belongs to the cluster "demo"/,
  );
  const { warnings = [] } = await apply("EtcdSnapshotSchedule", "warned", {
    schedule: "@yearly",
    destination: { s3: { bucket: "backups", credentialsSecret: "aws" } },
    suspend: true,
  });
  assert.match(warnings.join(), /credentialsSecret/);
  await operations.deleteSnapshot(subjectOf(local), { kind: "EtcdSnapshotSchedule", name: "warned" });
});

test("a schedule takes snapshots in time and keeps what its retention says, and the cluster is backed up", async () => {
  const retention = { keepLast: 1 };
  await apply("EtcdSnapshotSchedule", "minutely", {
    schedule: "* * * * *",
    destination: file("minutely"),
    retention,
  });
  await local.until(
    "the schedule was seen",
    async () => (await schedule("minutely"))?.status?.next !== undefined,
  );
  await local.until("nothing is due yet", () => condition("BackedUp")?.status === "Unknown");
  const taken = new Set<string>();
  for (let times = 1; times <= 2; times++) {
    aheadMs += MINUTE;
    local.controller.loop.wake();
    await local.until(`snapshot ${times} of the schedule`, async () => {
      const last = (await schedule("minutely"))?.status?.lastSnapshot;
      if (last !== undefined) taken.add(last);
      return taken.size === times;
    });
  }
  // Real minutes pass too, and each brings another one: there is one only between them.
  await local.until(
    "the older one is deleted, and its object",
    async () => (await snapshots()).length === 1 && objectsIn("minutely").length === 1,
  );
  assert.ok([...taken].every((name) => /^minutely-\d+$/.test(name)));
  await local.until("BackedUp", () => condition("BackedUp")?.status === "True");
  await operations.deleteSnapshot(subjectOf(local), { kind: "EtcdSnapshotSchedule", name: "minutely" });
});

test("an upgrade waits for its snapshot: a store that refuses is named with how to go on, and one that works lets it go on", async () => {
  await apply("EtcdSnapshotSchedule", "upgrades", { schedule: "@yearly", destination: refused() });
  await local.until(
    "the schedule was seen",
    async () => (await schedule("upgrades"))?.status?.next !== undefined,
  );
  await local.edit({ version: "3.7.3" });
  await local.until("the upgrade is held", (_, { decision }) =>
    decision.holds.some(({ code }) => code === "SnapshotBeforeFailed"),
  );
  const hold = local.controller.loop.latest?.decision.holds.find(
    ({ code }) => code === "SnapshotBeforeFailed",
  );
  assert.match(`${hold?.message} ${hold?.next}`, /Access Denied.*local approve without-snapshot-3\.7 --dir/s);
  const failed = await becomes("the failed one", isBefore37);
  assert.equal(failed.reason, "StoreDenied");
  assert.equal((await local.records())[0]?.template.version, "3.6.16");
  await apply("EtcdSnapshotSchedule", "upgrades", { schedule: "@yearly", destination: file("upgrades") });
  const name = (await snapshots()).find(isBefore37)?.metadata.name;
  await operations.deleteSnapshot(subjectOf(local), { kind: "EtcdSnapshot", name: name ?? "" });
  await local.settled();
  assert.equal((await local.records())[0]?.template.version, "3.7.3");
  // Its name has the hour, which may be another one by now.
  const before37 = (await snapshots()).filter(isBefore37).map(({ status }) => status);
  assert.deepEqual(
    before37.map((status) => [status?.phase, status?.etcdVersion]),
    [["Succeeded", "3.6.16"]],
  );
  assert.equal(objectsIn("upgrades").length, 1);
});

test("a controller that ends in the middle of a snapshot leaves it to the next one, which takes it once", async () => {
  await apply("EtcdSnapshot", "late", { destination: file("late"), verify: false });
  await becomes("it runs", ({ metadata, status }) => metadata.name === "late" && status?.phase !== undefined);
  await local.crash();
  await local.open();
  local.run();
  const status = await becomes(
    "it is taken",
    ({ metadata, status: { phase } = {} }) => metadata.name === "late" && phase === "Succeeded",
  );
  assert.equal(objectsIn("late").length, 1);
  assert.equal(status.etcdVersion, "3.7.3");
});
