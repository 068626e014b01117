import assert from "node:assert/strict";
import { test } from "node:test";
import type { EtcdSnapshot } from "../api/etcd-snapshot.ts";
import { Conflict } from "../control/platform.ts";
import { layout } from "./layout.ts";
import { SnapshotStore } from "./snapshot-store.ts";
import { countingRandom, MemoryDisk, StillClock } from "./testing/memory.ts";

const at = layout("/c");
const spec: EtcdSnapshot["spec"] = { cluster: "c", destination: { file: { path: "/backups" } } };

function newStore() {
  const disk = new MemoryDisk();
  const place = { directory: at.snapshots, file: (name: string) => at.snapshot(name) };
  const seams = { disk, clock: new StillClock(), random: countingRandom() };
  return { disk, store: new SnapshotStore<EtcdSnapshot>("EtcdSnapshot", place, seams) };
}

const refOf = ({ name, uid, resourceVersion }: { name: string; uid: string; resourceVersion: number }) => ({
  name,
  uid,
  resourceVersion: String(resourceVersion),
});

test("a snapshot is created once; another spec is another generation, and another request is none", async () => {
  const { store } = newStore();
  assert.equal(await store.apply("a", spec), "created");
  assert.equal(await store.apply("a", spec), "unchanged");
  assert.equal(await store.apply("a", { ...spec, verify: false }), "configured");
  assert.equal(await store.apply("a", { ...spec, verify: false }, { verifyRequest: "1" }), "configured");
  const found = await store.get("a");
  assert.deepEqual([found?.generation, found?.resourceVersion, found?.verifyRequest], [2, 3, "1"]);
  const made = await store.create("a", spec, { before: "3.7" });
  assert.equal(made.before, undefined, "what is there is kept");
});

test("a change is made under the version that was read, and never to a namesake", async () => {
  const { store } = newStore();
  const made = await store.create("a", spec, {});
  await store.change(refOf(made), { status: { phase: "Running" } });
  await assert.rejects(store.change(refOf(made), { status: { phase: "Failed" } }), Conflict);
  const other = { ...refOf(made), uid: "another", resourceVersion: "2" };
  await assert.rejects(store.change(other, { held: true }), Conflict);
  assert.equal(await store.delete("a", "another"), false);
});

test("one that is held stays until its object in the store is gone", async () => {
  const { store } = newStore();
  const made = await store.create("a", spec, {});
  await store.change(refOf(made), { held: true });
  assert.equal(await store.delete("a"), true);
  const ending = await store.get("a");
  assert.ok(ending?.deletedAt !== undefined);
  assert.ok(store.toObject(ending).metadata.deletionTimestamp);
  await store.change(refOf(ending), { status: { phase: "Deleting" } });
  await store.change(refOf({ ...ending, resourceVersion: ending.resourceVersion + 1 }), { held: false });
  assert.equal(await store.get("a"), undefined);
  assert.equal(await store.delete("a"), false);
});

test("a file that cannot be understood is named, kept, and hides no other one", async () => {
  const { store, disk } = newStore();
  await store.apply("a", spec);
  await disk.write(at.snapshot("broken"), "{");
  const { stored, damaged } = await store.list();
  assert.equal(stored.length, 1);
  assert.deepEqual(
    damaged.map(({ name }) => name),
    ["broken"],
  );
  assert.match(damaged[0]?.why ?? "", /broken\.json is not JSON/);
});
