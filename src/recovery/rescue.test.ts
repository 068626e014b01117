import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { systemDisk } from "../seams/disk.ts";
import { claimCopy } from "./rescue.ts";
import { RescueError } from "./rescue-error.ts";

test("--force-new-cluster runs once on a copy: the second run is refused before etcd starts", async (t) => {
  const copy = mkdtempSync(path.join(os.tmpdir(), "quorate-rescue-"));
  t.after(() => rmSync(copy, { recursive: true, force: true }));
  await claimCopy({ disk: systemDisk }, copy);
  await assert.rejects(claimCopy({ disk: systemDisk }, copy), (error: unknown) => {
    assert.ok(error instanceof RescueError);
    return /must not be run there again/.test(error.message);
  });
});
