import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import type { Pki } from "../seams/pki.ts";
import { systemDisk } from "../seams/disk.ts";
import { copyStep } from "./rescue-steps.ts";

const PLAN = "51f0a3c2d4e5b697";
const EARLIER = "0123456789abcdef";

test("copies of earlier attempts, for whichever plan, are removed before another is made, and snapshots are kept", async (t) => {
  const volume = mkdtempSync(path.join(os.tmpdir(), "quorate-steps-"));
  t.after(() => rmSync(volume, { recursive: true, force: true }));
  const recovery = path.join(volume, "recovery");
  for (const copy of [path.join(EARLIER, "attempt-a"), path.join(PLAN, "attempt-b")]) {
    mkdirSync(path.join(recovery, copy, "data"), { recursive: true });
    writeFileSync(path.join(recovery, copy, "data", "db"), "large");
  }
  const snapshot = path.join(recovery, EARLIER, "snapshot.db");
  writeFileSync(snapshot, "");
  const expected = { clusterID: "1", memberID: "2", last: { term: 3, index: 100 } };
  const tlsDir = path.join(volume, "tls");
  // It never comes to certificates.
  const pki = {} as Pki;
  const step = copyStep({ volume, plan: PLAN, by: "c", expected, tlsDir, disk: systemDisk, pki });
  await assert.rejects(step, /holds no data/);
  for (const name of [
    path.join(EARLIER, "attempt-a"),
    path.join(PLAN, "attempt-b"),
    path.join(PLAN, "attempt-c"),
  ])
    assert.equal(existsSync(path.join(recovery, name)), false, name);
  assert.ok(existsSync(snapshot));
});
