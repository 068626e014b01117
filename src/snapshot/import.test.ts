import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { systemRandom } from "../seams/random.ts";
import { findSnapshot, listSnapshots } from "./catalog.ts";
import { ecoName } from "./eco.ts";
import { importSnapshot, ImportRefused } from "./import.ts";
import { SnapshotDamaged } from "./inspect.ts";
import { checkSnapshot, SnapshotReader } from "./read.ts";
import { once } from "./store/store.ts";
import { snapshotFile } from "./testing/database.ts";
import { never, sampleFile } from "./testing/fixtures.ts";
import { MemoryStore } from "./testing/memory-store.ts";

const file = sampleFile();
const database = file.subarray(0, file.length - 32);
const ECO = "i-0ccf_000000000000003d_etcd.backup";

async function stored(objects: Readonly<Record<string, Uint8Array>>): Promise<MemoryStore> {
  const store = new MemoryStore();
  for (const [name, bytes] of Object.entries(objects))
    await store.put(name, once(bytes), { signal: never, ifAbsent: true });
  return store;
}

async function importing(
  from: MemoryStore,
  name: string,
  more: { etcdVersion?: string; clusterId?: string } = {},
) {
  const entry = await findSnapshot(from, name, never);
  assert.ok(entry);
  const to = new MemoryStore();
  const options = { from, entry, to, name: "prod/", random: systemRandom, signal: never, ...more };
  return { to, manifest: await importSnapshot(options) };
}

test("a file of etcdctl is imported byte for byte, and is complete from then on", async () => {
  const { to, manifest } = await importing(await stored({ "a.db": file }), "a.db", { clusterId: "abc" });
  const [entry] = await listSnapshots(to, "prod/", never);
  assert.equal(entry?.state, "complete");
  assert.match(entry?.name ?? "", /^prod\/etcd-abc-19700101T000000Z-[0-9a-f]{4}\.db$/);
  assert.ok(to.objects.get(entry?.name ?? "")?.bytes.equals(file));
  assert.deepEqual([manifest.revision, manifest.totalKeys, manifest.etcdVersion], [61, 60, "3.6.0"]);
  await checkSnapshot({ store: to, name: entry?.name ?? "", manifest, signal: never });
});

test("a backup of etcd-cloud-operator becomes the file that etcd would have sent", async () => {
  const from = await stored({ [ECO]: database });
  const { to, manifest } = await importing(from, ECO);
  const [entry] = await listSnapshots(to, "", never);
  assert.ok(to.objects.get(entry?.name ?? "")?.bytes.equals(file), "the hash is added");
  assert.equal(manifest.member.name, "i-0ccf");
  const reader = new SnapshotReader({ store: from, name: ECO, signal: never });
  for await (const _ of reader);
  assert.equal(reader.objectSha256, createHash("sha256").update(database).digest("hex"));
});

test("a backup of etcd-cloud-operator that was cut off or changed in its pages is damaged", async () => {
  const cut = await stored({ [ECO]: database.subarray(0, database.length - 4_096) });
  await assert.rejects(checkSnapshot({ store: cut, name: ECO, signal: never }), SnapshotDamaged);
});

test("the same bytes under another name are not taken for one", async () => {
  const from = await stored({ "copy.db": database });
  await assert.rejects(checkSnapshot({ store: from, name: "copy.db", signal: never }), /no hash at its end/);
});

test("of 3.5 and older the version has to be said, and nothing is written without it", async () => {
  const old = snapshotFile({ leaves: [[{ main: 2, sub: 0, key: "a", value: "b" }]] });
  const from = await stored({ "old.db": old });
  const entry = await findSnapshot(from, "old.db", never);
  assert.ok(entry);
  const to = new MemoryStore();
  const options = { from, entry, to, name: "", random: systemRandom, signal: never };
  await assert.rejects(importSnapshot(options), ImportRefused);
  assert.equal(to.objects.size, 0);
  assert.equal((await importSnapshot({ ...options, etcdVersion: "3.5.21" })).etcdVersion, "3.5.21");
});

test("what has a manifest is copied, not imported", async () => {
  const { to } = await importing(await stored({ "a.db": file }), "a.db");
  const [entry] = await listSnapshots(to, "", never);
  assert.ok(entry);
  const options = { from: to, entry, to: new MemoryStore(), name: "", random: systemRandom, signal: never };
  await assert.rejects(importSnapshot(options), /snapshot copy/);
});

test("names of etcd-cloud-operator are told from others", () => {
  assert.deepEqual(ecoName("x/i-0c_cf_0000000000557690_etcd.backup"), {
    member: "i-0c_cf",
    revision: 0x557690,
  });
  assert.equal(ecoName("etcd.backup"), undefined);
  assert.equal(ecoName("a_55_etcd.backup"), undefined);
});
