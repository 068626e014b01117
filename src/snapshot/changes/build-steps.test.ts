import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { systemDisk } from "../../seams/disk.ts";
import type { Pki } from "../../seams/pki.ts";
import { systemRandom } from "../../seams/random.ts";
import { manifestName, writeManifest } from "../manifest.ts";
import { manifestOf, never } from "../testing/fixtures.ts";
import { MemoryStore } from "../testing/memory-store.ts";
import { fetchForBuild } from "./build-steps.ts";

test("a point is not begun on a volume that cannot hold it", async (t) => {
  const directory = mkdtempSync(path.join(os.tmpdir(), "quorate-build-steps-"));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const store = new MemoryStore();
  const stored = { size: 1, sha256: "0".repeat(64) };
  const manifest = manifestOf({ object: "a.db", revision: 7, size: 2 ** 52, stored });
  const modifiedAt = new Date(0);
  store.objects.set("a.db", { bytes: Buffer.alloc(1), modifiedAt });
  store.objects.set(manifestName("a.db"), { bytes: Buffer.from(writeManifest(manifest)), modifiedAt });
  const options = {
    store,
    clusterId: manifest.clusterId,
    target: { revision: 7 },
    scratch: { directory, clientURL: "https://127.0.0.1:2379" },
    disk: systemDisk,
    // Nothing is issued before.
    pki: {} as Pki,
    random: systemRandom,
    etcdVersion: manifest.etcdVersion,
    signal: never,
  };
  await assert.rejects(fetchForBuild(options), /has \d+ MiB free, and restoring a snapshot of \d+ MiB needs/);
});
