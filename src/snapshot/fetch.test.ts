import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import type { RestoreRecipe } from "../api/bootstrap.ts";
import { systemDisk } from "../seams/disk.ts";
import { fetchForRestore, SNAPSHOT_FILE } from "./fetch.ts";
import { manifestName, writeManifest } from "./manifest.ts";
import { RestoreError, restoreErrorOf } from "./restore-error.ts";
import { StoreError } from "./store/store.ts";
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

test("faults of stores are told apart, so that only those that pass are retried", () => {
  assert.equal(restoreErrorOf(new StoreError("interrupted", "cut")).fault, "unreachable");
  assert.equal(restoreErrorOf(new StoreError("denied", "no")).fault, "denied");
  assert.equal(restoreErrorOf(new StoreError("full", "no")).fault, "space");
  assert.equal(restoreErrorOf(new RestoreError("key", "no")).fault, "key");
  assert.equal(restoreErrorOf("?").fault, "failed");
});
