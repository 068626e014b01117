import assert from "node:assert/strict";
import { test } from "node:test";
import { Conflict } from "../control/platform.ts";
import type { NewMemberRecord } from "../core/action.ts";
import { specOf } from "../core/testing/cluster.ts";
import { layout } from "./layout.ts";
import { DamagedFile, Store } from "./store.ts";
import { countingRandom, MemoryDisk, StillClock } from "./testing/memory.ts";

const at = layout("/c");
const newStore = () => {
  const disk = new MemoryDisk();
  return { disk, store: new Store(at, { disk, clock: new StillClock(), random: countingRandom() }) };
};
const record = { name: "c-1", ordinal: 1, token: "t-1", joined: false } as NewMemberRecord;

test("a changed spec is a new generation; marks and an equal spec are not", async () => {
  const { store } = newStore();
  const { spec } = await store.createCluster("c", specOf({ replicas: 3 }), 23_790);
  assert.equal((await store.updateCluster({ marks: { life: 2, highestOrdinal: 3 } })).generation, 1);
  assert.equal((await store.updateCluster({ spec: structuredClone(spec) })).generation, 1);
  const after = await store.updateCluster({ spec: { ...spec, replicas: 5 } });
  assert.deepEqual([after.generation, after.marks.life], [2, 2]);
});

test("changes made at once are all kept: a person's edit and a mark of the controller", async () => {
  const { store } = newStore();
  const { spec } = await store.createCluster("c", specOf({ replicas: 1 }), 23_790);
  await store.createMember(record);
  await Promise.all([
    store.updateCluster({ spec: { ...spec, replicas: 3 } }),
    store.updateCluster({ marks: { life: 1, highestOrdinal: 2 } }),
    store.updateMember("c-1", "1", { joined: true }),
    store.markDeleting("c-1"),
  ]);
  const after = await store.cluster();
  assert.deepEqual([after?.spec.replicas, after?.marks.highestOrdinal, after?.resourceVersion], [3, 2, 3]);
  const [member] = await store.members();
  assert.deepEqual([member?.record.joined, member?.deleting], [true, true]);
});

test("a change that fails does not hold up the next one", async () => {
  const { store } = newStore();
  await store.createMember(record);
  const [failed, done] = await Promise.allSettled([
    store.updateMember("c-1", "7", { joined: true }),
    store.markDeleting("c-1"),
  ]);
  assert.deepEqual([failed.status, done.status], ["rejected", "fulfilled"]);
});

test("a record is written only over the version that was read (H10)", async () => {
  const { store } = newStore();
  await store.createMember(record);
  await store.updateMember("c-1", "1", { joined: true });
  await assert.rejects(store.updateMember("c-1", "1", { run: false }), Conflict);
  const [member] = await store.members();
  assert.deepEqual([member?.record.joined, member?.record.resourceVersion], [true, "2"]);
});

test("creating a member twice is done once; of another life it is a conflict", async () => {
  const { store } = newStore();
  await store.createMember(record);
  const [first] = await store.members();
  await store.createMember(record);
  assert.deepEqual(await store.members(), [first]);
  await assert.rejects(store.createMember({ ...record, token: "t-2" }), Conflict);
});

test("a damaged file is told by name and never overwritten", async () => {
  const { disk, store } = newStore();
  await disk.write(at.cluster, "{");
  await assert.rejects(store.cluster(), (error: unknown) => {
    assert.ok(error instanceof DamagedFile);
    assert.match(error.message, /\/c\/cluster\.json/);
    return true;
  });
  await disk.write(at.cluster, '{"format":99}');
  await assert.rejects(store.updateCluster({ deleting: true }), DamagedFile);
});

test("a fence is kept through the controller's own writes, and leaves nothing behind", async () => {
  const { store } = newStore();
  await store.createMember(record);
  await store.markFenced("c-1", true);
  await store.updateMember("c-1", "2", { joined: true });
  assert.equal((await store.members())[0]?.fenced, true);
  await store.markFenced("c-1", false);
  assert.equal(Object.hasOwn((await store.members())[0] ?? {}, "fenced"), false);
});
