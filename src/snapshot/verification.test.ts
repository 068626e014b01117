import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import { systemDisk } from "../seams/disk.ts";
import type { Pki } from "../seams/pki.ts";
import { SnapshotDamaged } from "./inspect.ts";
import { manifestName, writeManifest } from "./manifest.ts";
import { SNAPSHOT_NAME } from "./scratch.ts";
import { FileStore } from "./store/file.ts";
import { manifestOf, never, sampleFile, surroundings } from "./testing/fixtures.ts";
import { fetchForVerification } from "./verification.ts";
import { VerificationError } from "./verification-error.ts";

const dir = mkdtempSync(path.join(os.tmpdir(), "quorate-verification-"));
after(() => rmSync(dir, { recursive: true, force: true }));

const file = sampleFile();
const sha256 = createHash("sha256").update(file).digest("hex");
const { clock, random } = surroundings;
const store = new FileStore(path.join(dir, "store"), random);
const scratch = { directory: path.join(dir, "scratch"), clientURL: "https://127.0.0.1:2379" };

async function stored(name: string, bytes: Uint8Array = file): Promise<void> {
  await systemDisk.makeDirectory(path.join(dir, "store"));
  writeFileSync(store.path(name), bytes);
  const facts = {
    size: file.length,
    sha256,
    stored: { size: file.length, sha256 },
    revision: 61,
    totalKeys: 60,
    totalEntries: 62,
  };
  writeFileSync(manifestName(store.path(name)), writeManifest(manifestOf({ ...facts, object: name })));
}

/** What is in them does not matter here. */
const issued = async () => await Promise.resolve({ certificate: "certificate", key: "key" });
const pki = { issueCa: issued, issueLeaf: issued } as unknown as Pki;

async function fetching(name: string, expected?: string) {
  await systemDisk.makeDirectory(scratch.directory);
  const options = { store, name, sha256: expected, scratch, disk: systemDisk, pki, clock, random };
  return await fetchForVerification({ ...options, signal: never });
}

test("a whole snapshot is fetched with what the next steps need, and what an earlier attempt left is gone", async () => {
  await stored("good.db");
  await systemDisk.makeDirectory(path.join(scratch.directory, "data"));
  await fetching("good.db", sha256);
  assert.deepEqual(readdirSync(scratch.directory).toSorted(), [
    "ca.pem",
    "expected.json",
    "root-key.pem",
    "root.pem",
    "server-key.pem",
    "server.pem",
    SNAPSHOT_NAME,
  ]);
  const expected = JSON.parse(readFileSync(path.join(scratch.directory, "expected.json"), "utf8")) as object;
  assert.deepEqual(Object.entries(expected).slice(1), [["database", { revision: 61, totalKeys: 60 }]]);
});

test("one flipped byte is damage, and there is nothing to restore then", async () => {
  const flipped = Buffer.from(file);
  flipped[flipped.length >> 1] = (flipped[flipped.length >> 1] ?? 0) ^ 1;
  await stored("flipped.db", flipped);
  await assert.rejects(fetching("flipped.db", sha256), SnapshotDamaged);
  assert.deepEqual(readdirSync(scratch.directory), []);
});

test("a snapshot that was replaced together with its manifest is not the one that was taken", async () => {
  await stored("other.db");
  await assert.rejects(fetching("other.db", "0".repeat(64)), /another snapshot than the one that was taken/);
});

test("without its object or its manifest it is missing, and never verified", async () => {
  await stored("lonely.db");
  rmSync(manifestName(store.path("lonely.db")));
  const isMissing = (error: unknown) => error instanceof VerificationError && error.fault === "ObjectMissing";
  await assert.rejects(fetching("lonely.db", sha256), isMissing);
  await assert.rejects(fetching("never.db", sha256), isMissing);
  await stored("gone.db");
  rmSync(store.path("gone.db"));
  await assert.rejects(fetching("gone.db", sha256), isMissing);
});
