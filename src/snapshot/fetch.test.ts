import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import fs from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import os from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import { zstdCompressSync } from "node:zlib";
import type { RestoreRecipe } from "../api/bootstrap.ts";
import { systemDisk } from "../seams/disk.ts";
import { fetchForRestore, SNAPSHOT_FILE } from "./fetch.ts";
import { InspectedSnapshot } from "./inspect.ts";
import { manifestName, writeManifest } from "./manifest.ts";
import { RestoreError, restoreErrorOf } from "./restore-error.ts";
import { StoreError } from "./store/store.ts";
import { snapshotFile } from "./testing/database.ts";
import { manifestOf, never, sampleFile, surroundings } from "./testing/fixtures.ts";

const dir = mkdtempSync(path.join(os.tmpdir(), "quorate-fetch-"));
after(() => rmSync(dir, { recursive: true, force: true }));

const file = sampleFile();
const sha256 = createHash("sha256").update(file).digest("hex");
const good = path.join(dir, "good.db");
writeFileSync(good, file);

let number = 0;

function fetching(source: string, more: Partial<RestoreRecipe> = {}, etcdVersion = "3.6.16") {
  const directory = path.join(dir, `volume-${++number}`);
  const context = { ...surroundings, cwd: "/", env: {}, disk: systemDisk };
  const restore = { source: { file: { path: source } }, ...more };
  const done = fetchForRestore({ restore, etcdVersion, directory, context, signal: never });
  return { directory, done };
}

async function refused(what: ReturnType<typeof fetching>, fault: string, why: RegExp): Promise<void> {
  await assert.rejects(what.done, (error) => {
    const found = restoreErrorOf(error);
    assert.equal(found.fault, fault);
    assert.match(found.message, why);
    return true;
  });
  const files = await systemDisk.list(what.directory);
  assert.deepEqual(files, [], "nothing is left that could be restored");
}

test("a whole snapshot of the right version becomes a file", async () => {
  const { directory, done } = fetching(good, { checksum: sha256 });
  assert.equal((await done).sha256, sha256);
  assert.deepEqual(readdirSync(directory), [SNAPSHOT_FILE]);
  assert.ok(readFileSync(path.join(directory, SNAPSHOT_FILE)).equals(file));
});

test("also one whose path has characters with a meaning in a URL", async () => {
  const odd = path.join(dir, "a#b?c%20.db");
  writeFileSync(odd, file);
  assert.equal((await fetching(odd).done).sha256, sha256);
});

test("one with another checksum does not", async () => {
  await refused(fetching(good, { checksum: "0".repeat(64) }), "checksum", /SHA-256/);
});

test("nor one that is not there, is a folder, or is damaged", async () => {
  await refused(fetching(path.join(dir, "missing.db")), "not-found", /there is no snapshot/);
  await refused(fetching(dir), "invalid", /is a folder/);
  const flipped = Buffer.from(file);
  flipped[flipped.length >> 1] = 1 + (flipped[flipped.length >> 1] ?? 0);
  writeFileSync(path.join(dir, "flipped.db"), flipped);
  await refused(fetching(path.join(dir, "flipped.db")), "damaged", /damaged/);
});

test("the version is that of the manifest, else that of the data; 3.4 is restored by 3.5", async () => {
  await refused(fetching(good, {}, "3.7.3"), "version", /etcd 3\.6 wrote the snapshot/);
  const stored = { size: file.length, sha256 };
  const entry = { size: file.length, sha256, stored, revision: 61, totalKeys: 60 };
  const old = path.join(dir, "old.db");
  writeFileSync(old, file);
  writeFileSync(
    manifestName(old),
    writeManifest(manifestOf({ ...entry, object: "old.db", etcdVersion: "3.4.37" })),
  );
  await refused(fetching(old), "version", /restore it with a 3\.5 version/);
  await fetching(old, {}, "3.5.35").done.catch((error: unknown) => {
    // The fixture counts other entries; that it got so far is what is shown.
    assert.equal(restoreErrorOf(error).fault, "damaged");
  });
});

test("who restores from the fetched file judges its version as who fetched it: the manifest goes with it", async () => {
  // Of a member that was upgraded before the others: 3.6 wrote it, and nothing in the data says so.
  const silent = snapshotFile({ leaves: [[{ main: 2, sub: 0, key: "k", value: "v" }]] });
  const hash = createHash("sha256").update(silent).digest("hex");
  const inspected = new InspectedSnapshot(
    (async function* () {
      yield silent;
    })(),
  );
  for await (const _ of inspected);
  assert.ok(inspected.facts);
  const { size, database } = inspected.facts;
  const { revision, totalKeys, totalEntries } = database;
  assert.equal(database.storageVersion, undefined);
  const upgraded = path.join(dir, "upgraded.db");
  writeFileSync(upgraded, zstdCompressSync(silent));
  const packed = readFileSync(upgraded);
  const stored = { size: packed.length, sha256: createHash("sha256").update(packed).digest("hex") };
  const what = { size, sha256: hash, revision, totalEntries, ...(totalKeys !== undefined && { totalKeys }) };
  const manifest = manifestOf({ ...what, object: "upgraded.db", stored, compression: "zstd" });
  writeFileSync(manifestName(upgraded), writeManifest(manifest));
  const first = fetching(upgraded);
  await first.done;
  const again = fetching(path.join(first.directory, SNAPSHOT_FILE), { checksum: hash });
  assert.equal((await again.done).sha256, hash);
  await refused(
    fetching(path.join(first.directory, SNAPSHOT_FILE), {}, "3.5.35"),
    "version",
    /etcd 3\.6 wrote/,
  );
});

test("a manifest of an earlier attempt does not stay beside another file", async () => {
  const { directory, done } = fetching(good);
  await done;
  const context = { ...surroundings, cwd: "/", env: {}, disk: systemDisk };
  writeFileSync(manifestName(path.join(directory, SNAPSHOT_FILE)), "{}");
  const restore = { source: { file: { path: good } } };
  await fetchForRestore({ restore, etcdVersion: "3.6.16", directory, context, signal: never });
  assert.deepEqual(readdirSync(directory), [SNAPSHOT_FILE]);
});

test("a database that is larger than the quota is refused, before it is read where its manifest tells the size", async () => {
  const context = { ...surroundings, cwd: "/", env: {}, disk: systemDisk };
  const large = path.join(dir, "large.db");
  writeFileSync(large, "not a database at all");
  const stored = { size: 21, sha256: "0".repeat(64) };
  writeFileSync(
    manifestName(large),
    writeManifest(manifestOf({ object: "large.db", size: 8 * 2 ** 30 + 1, stored })),
  );
  for (const [source, quotaBytes, why] of [
    [
      large,
      8 * 2 ** 30,
      /the snapshot has 8193 MiB, and the quota of the cluster is 8192 MiB: raise spec\.opt/,
    ],
    [
      good,
      file.length - 1,
      /the snapshot has \d+ KiB, and the quota of the cluster is \d+ KiB: raise spec\.opt/,
    ],
  ] as const) {
    const directory = path.join(dir, `volume-${++number}`);
    const restore = { source: { file: { path: source } } };
    const options = { restore, etcdVersion: "3.6.16", directory, context, signal: never };
    await refused({ directory, done: fetchForRestore({ ...options, quotaBytes }) }, "quota", why);
  }
  const directory = path.join(dir, `volume-${++number}`);
  const restore = { source: { file: { path: good } } };
  const options = { restore, etcdVersion: "3.6.16", directory, context, signal: never };
  assert.equal((await fetchForRestore({ ...options, quotaBytes: file.length })).sha256, sha256);
});

test("what a fetch that was killed left takes no room from the next one", async () => {
  const { directory, done } = fetching(good);
  await done;
  writeFileSync(path.join(directory, `.${SNAPSHOT_FILE}.0123abcd.partial`), file);
  const context = { ...surroundings, cwd: "/", env: {}, disk: systemDisk };
  const restore = { source: { file: { path: good } } };
  await fetchForRestore({ restore, etcdVersion: "3.6.16", directory, context, signal: never });
  assert.deepEqual(readdirSync(directory), [SNAPSHOT_FILE]);
});

test("a volume without room for the file, the database made from it and etcd's log is told at once", async (t) => {
  const { statfs } = fs;
  const needed = 2 * file.length + 2 * 64 * 1024 * 1024;
  let free = needed - 4096;
  fs.statfs = (async () => await Promise.resolve({ bavail: free / 4096, bsize: 4096 })) as never;
  syncBuiltinESMExports();
  t.after(() => {
    fs.statfs = statfs;
    syncBuiltinESMExports();
  });
  await refused(
    fetching(good),
    "space",
    /has 1\d\d MiB free, and restoring a snapshot of \d+ KiB needs 1\d\d MiB/,
  );
  free = needed + 4096;
  assert.equal((await fetching(good).done).sha256, sha256);
});

test("faults of stores are told apart, so that only those that pass are retried", () => {
  assert.equal(restoreErrorOf(new StoreError("interrupted", "cut")).fault, "unreachable");
  assert.equal(restoreErrorOf(new StoreError("denied", "no")).fault, "denied");
  assert.equal(restoreErrorOf(new StoreError("full", "no")).fault, "space");
  assert.equal(restoreErrorOf(new RestoreError("key", "no")).fault, "key");
  assert.equal(restoreErrorOf("?").fault, "failed");
});
