import assert from "node:assert/strict";
import { test } from "node:test";
import { never } from "../testing/fixtures.ts";
import { World } from "../testing/follow-world.ts";
import { readLog } from "./log.ts";

/** Recorded up to revision 11. */
async function recordedWorld(): Promise<World> {
  const world = new World();
  world.start();
  await world.until("the base", () => world.bases === 1);
  for (let i = 0; i < 10; i++) world.etcd.write([{ put: `k${i % 3}`, value: `${i}` }]);
  await world.recorded();
  return world;
}

const names = async (world: World) =>
  (await readLog(world.store, "abc", never)).stretches.flatMap(({ segments }) =>
    segments.map(({ name }) => name),
  );

async function refusal(world: World, words: RegExp): Promise<void> {
  const before = await names(world);
  await assert.rejects(
    world.until("never", () => false),
    (error: Error & { fault?: string }) => {
      assert.equal(error.fault, "set-back", error.message);
      assert.match(error.message, words);
      assert.match(error.message, /new folder/);
      return true;
    },
  );
  assert.deepEqual(await names(world), before);
}

test("a cluster that was set back under the same ID is not recorded into the same log", async () => {
  const world = await recordedWorld();
  await world.stop();
  world.etcd.setBack(5);
  world.start();
  await refusal(world, /has revision 5, and .* up to revision 11/);
});

test("nor is one whose snapshots alone are ahead of it", async () => {
  const world = new World();
  for (let i = 0; i < 10; i++) world.etcd.write([{ put: "a", value: `${i}` }]);
  await world.takeBase();
  world.etcd.setBack(5);
  world.etcd.switchAuth(true);
  world.start();
  await refusal(world, /has revision 5, and .* up to revision 11/);
  assert.equal(world.bases, 1);
});

test("one that has come past the end of the log again is told by what the last recorded change left", async () => {
  const world = await recordedWorld();
  await world.stop();
  world.etcd.setBack(5);
  for (let i = 0; i < 10; i++) world.etcd.write([{ put: `k${i % 3}`, value: `other ${i}` }]);
  world.start();
  await refusal(world, /has other changes at revision 11/);
});

test("one that was set back while it was followed is noticed, behind the log and past it", async () => {
  for (const past of [false, true]) {
    const world = await recordedWorld();
    const { etcd } = world;
    let broken = false;
    etcd.cut = () => {
      const breaks = !broken;
      broken = true;
      return { events: breaks ? 0 : 10, breaks };
    };
    etcd.setBack(5);
    etcd.write([{ put: "a", value: "other" }]);
    if (past) for (let i = 0; i < 10; i++) etcd.write([{ put: `k${i % 3}`, value: `other ${i}` }]);
    await refusal(world, past ? /has other changes at revision 11/ : /has revision 6/);
  }
});

test("compaction of the last recorded revision is no sign of another history", async () => {
  const world = await recordedWorld();
  await world.stop();
  world.etcd.write([{ put: "a", value: "later" }]);
  world.etcd.compacted = world.etcd.revision;
  world.etcd.write([{ put: "a", value: "latest" }]);
  world.start();
  await world.until("the new base", () => world.bases === 2);
  assert.deepEqual(world.reasons, ["none", "compacted"]);
  await world.stop();
});
