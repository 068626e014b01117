import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { systemDisk } from "../seams/disk.ts";
import { RestoreError } from "./restore-error.ts";
import { placeRestored, readFailure, stageSnapshot, writeFailure } from "./stage.ts";
import { never, sampleFile, surroundings } from "./testing/fixtures.ts";

let volume = "";
beforeEach(() => {
  volume = mkdtempSync(path.join(os.tmpdir(), "quorate-stage-"));
});
afterEach(() => rmSync(volume, { recursive: true, force: true }));

/** What etcdutl, or etcd, leaves of a log. */
function log(dataDir: string, text: string): void {
  mkdirSync(path.join(volume, dataDir, "member", "wal"), { recursive: true });
  writeFileSync(path.join(volume, dataDir, "member", "wal", "0.wal"), text);
}
const logIn = (dataDir: string) => readFileSync(path.join(volume, dataDir, "member", "wal", "0.wal"), "utf8");

test("a snapshot is staged beside the data, and an earlier attempt is gone", async () => {
  const source = path.join(volume, "source.db");
  writeFileSync(source, sampleFile());
  log("data", "live");
  log("restore/data", "half done");
  await stageSnapshot({
    restore: { source: { file: { path: source } } },
    etcdVersion: "3.6.16",
    volume,
    context: { ...surroundings, cwd: "/", env: {}, disk: systemDisk },
    signal: never,
  });
  assert.deepEqual(readdirSync(path.join(volume, "restore")), ["snapshot.db"]);
  assert.equal(logIn("data"), "live");
});

test("what was restored gets its place, and nothing else is left", async () => {
  log("restore/data", "restored");
  writeFileSync(path.join(volume, "restore", "snapshot.db"), "x");
  assert.equal(await placeRestored(volume, systemDisk), "placed");
  assert.equal(logIn("data"), "restored");
  assert.deepEqual(readdirSync(volume), ["data"]);
});

test("live data is never replaced, however often it runs", async () => {
  log("data", "live");
  log("restore/data", "restored again");
  for (let i = 0; i < 2; i++) assert.equal(await placeRestored(volume, systemDisk), "there");
  assert.equal(logIn("data"), "live");
  assert.deepEqual(readdirSync(volume), ["data"]);
});

test("without a restored directory nothing is placed: etcd must not find an empty one", async () => {
  mkdirSync(path.join(volume, "restore", "data"), { recursive: true });
  await assert.rejects(placeRestored(volume, systemDisk), /etcdutl did not finish/);
});

test("a failure is data, and other words are not", () => {
  assert.deepEqual(readFailure(writeFailure(new RestoreError("key", "no"))), { fault: "key", message: "no" });
  assert.ok(Buffer.byteLength(writeFailure(new RestoreError("key", "ü".repeat(9_000)))) < 4_096);
  for (const text of ["", "panic", "{}", '{"fault":"x","message":"y"}', "null"])
    assert.equal(readFailure(text), undefined);
});
