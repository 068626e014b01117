import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import type { Pki } from "../seams/pki.ts";
import { systemDisk } from "../seams/disk.ts";
import { manifestName } from "../snapshot/manifest.ts";
import { nodeWorkDir, recoveriesOn } from "./places.ts";
import { copyStep, removeOthers } from "./rescue-steps.ts";

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

test("when a snapshot is there, those of other plans are removed, and never data that somebody restored beside them", async (t) => {
  const volume = mkdtempSync(path.join(os.tmpdir(), "quorate-steps-"));
  t.after(() => rmSync(volume, { recursive: true, force: true }));
  const recovery = recoveriesOn(volume);
  const put = (...names: string[]) => {
    const file = path.join(...names);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, "");
    return file;
  };
  const ended = path.join(recovery, "00000000000000ff");
  for (const name of ["snapshot.db", manifestName("snapshot.db"), "etcd.log", "attempt-a/data/db"])
    put(ended, name);
  const kept = [
    put(recovery, PLAN, "snapshot.db"),
    // `quorate recover node` on the volume, on a snapshot of the operator, and as it was named before.
    put(nodeWorkDir(recovery, EARLIER), "data", "member", "snap", "db"),
    put(nodeWorkDir(path.join(recovery, "0000000000000001", "snapshot.db.recovery"), PLAN), "data", "db"),
    put(recovery, EARLIER, "data", "member", "snap", "db"),
    put(recovery, EARLIER, "etcd.log"),
  ];
  const old = put(recovery, "0000000000000001", "snapshot.db");
  await removeOthers(systemDisk, volume, PLAN);
  for (const file of kept) assert.ok(existsSync(file), file);
  for (const file of [ended, old]) assert.equal(existsSync(file), false, file);
});
