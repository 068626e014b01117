/**
 * A restore in place on real etcd: an approved plan, and nothing else, replaces all data of a running cluster; watchers
 * see a compaction and never the past, also when the same snapshot is restored twice; the former data is kept; and a
 * controller that dies on the way leaves it to the next one.
 */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { after, test } from "node:test";
import type { EtcdClient } from "../../src/etcd/client.ts";
import { eventually } from "../../testbed/eventually.ts";
import { inspectDirectory } from "../../src/recovery/directory.ts";
import { systemDisk } from "../../src/seams/disk.ts";
import type { Manifest } from "../../src/snapshot/manifest.ts";
import { FakeS3 } from "../../src/snapshot/testing/fake-s3.ts";
import { LocalCluster } from "../support/local-cluster.ts";
import { ask, ended } from "../support/local-operations.ts";
import { snapshotJson } from "../support/snapshot-verbs.ts";

const VERSION = "3.6.16";
const dir = mkdtempSync(path.join(os.tmpdir(), "quorate-in-place-"));
after(() => rmSync(dir, { recursive: true, force: true }));

async function keysOf({ kv }: EtcdClient): Promise<{ keys: string[]; revision: number }> {
  const all = await kv.range("\0", { rangeEnd: "\0" });
  const keys = all.kvs.map(
    ({ key, value }) => `${Buffer.from(key).toString()}=${Buffer.from(value).toString()}`,
  );
  return { keys, revision: Number(all.header.revision) };
}

async function saved(local: LocalCluster, name: string): Promise<string> {
  const [record] = await local.records();
  assert.ok(record);
  const file = path.join(dir, name);
  const { url } = local.controller.platform.endpoint(record);
  await snapshotJson<Manifest>(["save", "--endpoints", url, file]);
  return file;
}

/** Asked without an approval, the answer has the hash that approves it. */
async function planFor(local: LocalCluster, name: string, file: string): Promise<string> {
  await ask(local, name, { restore: { source: { file: { path: file } } } });
  const { phase, reason, message = "" } = await ended(local, name);
  assert.deepEqual([phase, reason], ["Rejected", "ApprovalNeeded"], message);
  return /approve: ([0-9a-f]{16})/.exec(message)?.[1] ?? "";
}

/** Whoever watched up to a revision of the past is told to read again. */
async function seesCompaction(client: EtcdClient, revision: number): Promise<void> {
  await assert.rejects(async () => {
    const options = { startRevision: BigInt(revision), signal: AbortSignal.timeout(10_000) };
    for await (const _ of client.watches.watch("key-1", options));
  }, /compacted/);
}

test("an approved plan replaces all data; watchers see a compaction, twice; what was there is kept", async () => {
  await using local = await LocalCluster.start({ replicas: 3, version: VERSION });
  const first = await local.client();
  for (let i = 0; i < 50; i++) await first.kv.put(`key-${i}`, `value ${i}`);
  const file = await saved(local, "demo.db");
  const before = await keysOf(first);
  await first.kv.put("key-1", "changed since");
  await first.kv.put("since", "lost by the restore");
  const { revision: seen } = await keysOf(first);
  const idBefore = local.controller.loop.latest?.status.clusterID;

  const missing = path.join(dir, "missing.db");
  const unfound = await planFor(local, "unfound-plan", missing);
  await ask(local, "unfound", { restore: { source: { file: { path: missing } }, approve: unfound } });
  const failed = await ended(local, "unfound");
  assert.deepEqual([failed.phase, failed.reason], ["Failed", "StepFailed"]);
  assert.match(failed.message ?? "", /there is no snapshot/);
  assert.equal((await keysOf(first)).revision, seen, "nobody was stopped, and nothing was changed");

  const approve = await planFor(local, "plan", file);
  await ask(local, "restore", { restore: { source: { file: { path: file } }, approve } });
  const done = await ended(local, "restore");
  assert.equal(done.phase, "Succeeded", `${done.message}\n${local.story()}`);
  await local.settled();
  const second = await local.client();
  const now = await keysOf(second);
  assert.deepEqual(now.keys, before.keys);
  assert.ok(now.revision >= seen + 1_000_000_000, `revision ${now.revision}`);
  await seesCompaction(second, seen + 1);
  assert.deepEqual(await local.names(), ["demo-4", "demo-5", "demo-6"]);
  assert.notEqual(local.controller.loop.latest?.status.clusterID, idBefore);
  for (const former of ["demo-1", "demo-2", "demo-3"]) {
    const kept = await inspectDirectory(systemDisk, local.files.volume(former).data);
    assert.equal(kept.state, "data", former);
  }

  // The approval was for that life; and a second time the revision is above that of the first.
  await ask(local, "again", { restore: { source: { file: { path: file } }, approve } });
  assert.equal((await ended(local, "again")).reason, "ApprovalNeeded");
  await second.kv.put("key-1", "changed again");
  const { revision: seenAgain } = await keysOf(second);
  const next = await planFor(local, "next-plan", file);
  await ask(local, "next", { restore: { source: { file: { path: file } }, approve: next } });
  assert.equal((await ended(local, "next")).phase, "Succeeded", local.story());
  await local.settled();
  const third = await local.client();
  const last = await keysOf(third);
  assert.deepEqual(last.keys, before.keys);
  assert.ok(last.revision >= seenAgain + 1_000_000_000, `revision ${last.revision}`);
  await seesCompaction(third, seenAgain + 1);
});

test("a controller that dies between the steps of a restore leaves it to the next one", async () => {
  await using local = await LocalCluster.start({ replicas: 1, version: VERSION });
  const { kv } = await local.client();
  await kv.put("key-1", "of the snapshot");
  const file = await saved(local, "single.db");
  await kv.put("key-1", "changed since");
  const approve = await planFor(local, "plan", file);
  await local.halt();
  await ask(local, "restore", { restore: { source: { file: { path: file } }, approve } });
  for (const step of ["FetchSnapshot", "UpdateMember/recover", "StopWorkload", "MarkCluster/recover"]) {
    await local.passUntilStep(step);
    await local.crash();
    await local.open();
  }
  local.run();
  assert.equal((await ended(local, "restore")).phase, "Succeeded", local.story());
  await local.settled();
  assert.deepEqual((await keysOf(await local.client())).keys, ["key-1=of the snapshot"]);
});

test("a member that ends while a slow store sends the snapshot is started again meanwhile", async () => {
  const keys = { AWS_ACCESS_KEY_ID: "a", AWS_SECRET_ACCESS_KEY: "b" };
  Object.assign(process.env, keys);
  try {
    await using store = await new FakeS3().start();
    await using local = await LocalCluster.start({ replicas: 1, version: VERSION });
    const { kv } = await local.client();
    await kv.put("key-1", "of the snapshot");
    store.objects.set("demo.db", readFileSync(await saved(local, "slow.db")));
    await kv.put("key-1", "changed since");
    const source = { s3: { bucket: "bucket", endpoint: store.endpoint, key: "demo.db" } };
    await ask(local, "plan", { restore: { source } });
    const { message = "" } = await ended(local, "plan");
    const approve = /approve: ([0-9a-f]{16})/.exec(message)?.[1] ?? "";

    Object.assign(store.faults, { cutAt: store.passed + 10_000, cuts: Infinity, stallMs: 3_600_000 });
    await ask(local, "restore", { restore: { source, approve } });
    await eventually("the store to be silent", () => store.silent > 0);
    const started = local.children.length;
    assert.ok(local.children.at(-1)?.signal("SIGKILL"));
    await eventually("the member to be started again", () => local.children.length > started);
    await eventually("it to serve", async () => {
      const [found] = (await keysOf(await local.client())).keys;
      return found === "key-1=changed since";
    });
    assert.ok(store.silent > 0, "the snapshot is still on its way");

    store.faults.cutAt = undefined;
    store.closeConnections();
    assert.equal((await ended(local, "restore")).phase, "Succeeded", local.story());
    await local.settled();
    assert.deepEqual((await keysOf(await local.client())).keys, ["key-1=of the snapshot"]);
  } finally {
    for (const key of Object.keys(keys)) delete process.env[key];
  }
});
