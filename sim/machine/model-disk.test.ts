import assert from "node:assert/strict";
import { test } from "node:test";
import { DiskError } from "../../src/seams/disk.ts";
import { DataDir } from "../models/etcd/data-dir.ts";
import { ModelDisk } from "./model-disk.ts";

test("files are read back, listed, renamed with all below them, and removed", async () => {
  const disk = new ModelDisk();
  await disk.write("/c/members/a.json", "1");
  await disk.write("/c/members/b.json", "2");
  assert.equal(await disk.read("/c/members/a.json"), "1");
  assert.deepEqual(await disk.list("/c/members"), ["a.json", "b.json"]);
  assert.deepEqual(await disk.list("/c"), ["members"]);
  await disk.rename("/c/members", "/c/old");
  assert.equal(await disk.read("/c/old/b.json"), "2");
  assert.equal(await disk.read("/c/members/b.json"), undefined);
  await disk.remove("/c");
  assert.deepEqual(await disk.list("/c"), []);
});

test("a file is created once", async () => {
  const disk = new ModelDisk();
  assert.equal(await disk.create("/lock", "me"), true);
  assert.equal(await disk.create("/lock", "you"), false);
  assert.equal(await disk.read("/lock"), "me");
});

test("etcd's data lies where its log would, moves and goes with its directory", async () => {
  const disk = new ModelDisk();
  const data = new DataDir("c", "m");
  disk.putData("/v/data", data);
  assert.equal((await disk.list("/v/data/member/wal")).length, 1);
  await disk.rename("/v", "/w");
  assert.equal(disk.dataAt("/w/data"), data);
  await disk.remove("/w/data");
  assert.equal(disk.dataAt("/w/data"), undefined);
});

test("a full disk refuses writes below it and nowhere else", async () => {
  const disk = new ModelDisk();
  disk.full.add("/v");
  await assert.rejects(
    disk.write("/v/x", ""),
    (error) => error instanceof DiskError && error.reason === "full",
  );
  await disk.write("/vv", "");
});

test("overwriting the database changes what the member hashes", async () => {
  const disk = new ModelDisk();
  const data = new DataDir("c", "m");
  disk.putData("/v/data", data);
  await disk.overwrite("/v/data/member/snap/db");
  assert.notEqual(data.corruption, 0);
});
