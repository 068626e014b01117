import assert from "node:assert/strict";
import { test } from "node:test";
import { sentencesOf } from "../control/problem.ts";
import { Conflict } from "../control/platform.ts";
import { layout } from "./layout.ts";
import { createOperation, OperationStore } from "./operation-store.ts";
import { countingRandom, MemoryDisk, StillClock } from "./testing/memory.ts";

const at = layout("/c");
const spec = { cluster: "c", restart: {} };

function newStore() {
  const disk = new MemoryDisk();
  return { disk, store: new OperationStore(at, { disk, clock: new StillClock(), random: countingRandom() }) };
}

test("an operation is stored once under its name, and listed by time of creation and name", async () => {
  const { store } = newStore();
  assert.ok(await store.create("b", spec));
  assert.ok(await store.create("a", spec));
  assert.equal(await store.create("b", spec), undefined);
  const { operations } = await store.list();
  assert.deepEqual(
    operations.map(({ metadata }) => metadata.name),
    ["a", "b"],
  );
});

test("a status is written under the version that was read", async () => {
  const { store } = newStore();
  await store.create("a", spec);
  await store.report("a", "1", { phase: "Running" });
  await assert.rejects(store.report("a", "1", { phase: "Failed" }), Conflict);
  await assert.rejects(store.report("b", "1", { phase: "Failed" }), Conflict);
  const [found] = (await store.list()).operations;
  assert.equal(found?.status?.phase, "Running");
});

test("a namesake that was created meanwhile is not deleted", async () => {
  const { store } = newStore();
  const first = await store.create("a", spec);
  assert.equal(await store.remove("a", "another"), false);
  assert.equal(await store.remove("a", first?.metadata.uid), true);
  assert.equal(await store.remove("a"), false);
});

test("a file that cannot be understood is named, kept, and hides no other one", async () => {
  const { store, disk } = newStore();
  await store.create("a", spec);
  await disk.write(at.operation("broken"), "{");
  const { operations, damaged } = await store.list();
  assert.equal(operations.length, 1);
  assert.match(sentencesOf(damaged).join(), /broken\.json is not JSON/);
  assert.equal(await disk.read(at.operation("broken")), "{");
});

test("an approval that exists is kept, unless it has ended or approves something else", async () => {
  const { store } = newStore();
  const action = { kind: "CreateOperation", operation: "a", approve: "x" } as const;
  await createOperation(store, { name: "c" }, action);
  await createOperation(store, { name: "c" }, action);
  await assert.rejects(createOperation(store, { name: "c" }, { ...action, approve: "y" }), Conflict);
  await store.report("a", "1", { phase: "Failed" });
  await assert.rejects(createOperation(store, { name: "c" }, action), Conflict);
});
