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
