import assert from "node:assert/strict";
import { test } from "node:test";
import type { MemberRecord } from "../core/record.ts";
import { layout } from "./layout.ts";
import { countingRandom, MemoryDisk } from "./testing/memory.ts";
import { Volumes } from "./volumes.ts";

const at = layout("/c");
const newVolumes = () => {
  const disk = new MemoryDisk();
  return { disk, volumes: new Volumes(at, disk, countingRandom()) };
};
const record = (name: string, volumeUID?: string) =>
  ({ name, ...(volumeUID !== undefined && { volumeUID }) }) as MemberRecord;

test("a volume is made once, with an identity of its own", async () => {
  const { volumes } = newVolumes();
  assert.deepEqual(await volumes.facts("c-1"), { state: "absent" });
  assert.equal(await volumes.ensure(record("c-1"), "u"), true);
  const facts = await volumes.facts("c-1");
  assert.equal(facts.state, "ready");
  assert.equal(await volumes.ensure(record("c-1"), "u"), false);
  assert.deepEqual(await volumes.facts("c-1"), facts);
});

test("a volume on which a member may have started is never made anew (H2, I4)", async () => {
  const { volumes } = newVolumes();
  assert.equal(await volumes.ensure(record("c-1", "lost"), "u"), false);
  assert.deepEqual(await volumes.facts("c-1"), { state: "absent" });
});

test("only the volume that was meant is deleted (I5)", async () => {
  const { volumes } = newVolumes();
  await volumes.ensure(record("c-1"), "u");
  const facts = await volumes.facts("c-1");
  await volumes.delete("c-1", "another");
  assert.deepEqual(await volumes.facts("c-1"), facts);
  await volumes.delete("c-1", facts.state === "ready" ? facts.uid : "");
  assert.deepEqual(await volumes.facts("c-1"), { state: "absent" });
});

test("names of kept volumes are not used again, and another cluster's volume is a clash (I9, H11)", async () => {
  const { volumes } = newVolumes();
  await volumes.ensure(record("c-7"), "former");
  assert.equal(await volumes.highestOrdinal("c"), 7);
  assert.deepEqual(await volumes.clashes([record("c-7")], "mine"), [at.volume("c-7").dir]);
  assert.deepEqual(await volumes.clashes([record("c-7")], "former"), []);
});

test("a directory without a write-ahead log has lost its data once it was used, whatever else lies in it (H3)", async () => {
  const { disk, volumes } = newVolumes();
  await volumes.ensure(record("c-1"), "u");
  const facts = await volumes.facts("c-1");
  const used = record("c-1", facts.state === "ready" ? facts.uid : "");
  await disk.write(`${at.volume("c-1").data}/member/snap/db`, "x");
  assert.equal(await volumes.hasLostData(used), false, "never used");
  assert.equal(await volumes.hasLostData({ ...used, joined: true }), true);
  await disk.write(`${at.volume("c-1").wal}/0.wal`, "x");
  assert.equal(await volumes.hasLostData({ ...used, joined: true }), false);
  await volumes.noteUse(used);
  await disk.remove(at.volume("c-1").wal);
  assert.equal(await volumes.hasLostData(used), true, "used, and not latched");
});

test("a deletion that was cut off half way is finished, and other volumes stay", async () => {
  const { disk, volumes } = newVolumes();
  await volumes.ensure(record("c-1"), "u");
  await disk.write("/c/volumes/c-2.deleting/data/x", "x");
  await volumes.finishDeletions();
  assert.deepEqual(await disk.list(at.volumes), ["c-1"]);
});
