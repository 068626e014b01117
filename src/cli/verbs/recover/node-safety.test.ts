import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { test, type TestContext } from "node:test";
import { CommandError, EXIT } from "../../exit.ts";
import { UsageError } from "../../io.ts";
import { systemDisk } from "../../../seams/disk.ts";
import { assertApart, assertNeverAlone, assertUnused } from "./node-safety.ts";

function memberOn(t: TestContext) {
  const root = mkdtempSync(path.join(os.tmpdir(), "quorate-node-"));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  const dataDir = path.join(root, "volume", "data");
  mkdirSync(path.join(dataDir, "member", "snap"), { recursive: true });
  writeFileSync(path.join(dataDir, "member", "snap", "db"), "");
  return { root, volume: path.join(root, "volume"), dataDir };
}

test("where it cannot be known whether an etcd runs on the data, nothing is done, and it is told what to do", async (t) => {
  const { root, dataDir } = memberOn(t);
  await assert.rejects(assertUnused(dataDir, path.join(root, "proc")), (error) => {
    assert.ok(error instanceof CommandError);
    assert.equal(error.code, EXIT.failed);
    assert.match(error.message, /Run this as root/);
    return true;
  });
  // There is nothing yet that could be in use.
  await assertUnused(path.join(root, "absent"), path.join(root, "proc"));
});

test("new data never goes where the old is, or into it, by whatever name", async (t) => {
  const { root, volume, dataDir } = memberOn(t);
  const link = path.join(root, "link");
  symlinkSync(volume, link);
  for (const workDir of [volume, link, dataDir, path.join(dataDir, "new"), path.join(link, "data", "a", "b")])
    await assert.rejects(assertApart(dataDir, workDir), UsageError, workDir);
  for (const workDir of [path.join(volume, "recovery", "node-1"), path.join(root, "new"), `${dataDir}-new`])
    await assertApart(dataDir, workDir);
  const snapshot = path.join(root, "snapshot.db");
  writeFileSync(snapshot, "");
  await assertApart(snapshot, root);
  await assertApart(snapshot, `${snapshot}.recovery`);
});

test("a member that was started alone before does not start with its siblings as well", async (t) => {
  const { volume } = memberOn(t);
  const base = path.join(volume, "recovery");
  await assertNeverAlone(systemDisk, base);
  mkdirSync(path.join(base, "51f0a3c2d4e5b697", "attempt-1", "data"), { recursive: true });
  await assertNeverAlone(systemDisk, base);
  mkdirSync(path.join(base, "node-51f0a3c2d4e5b697", "data"), { recursive: true });
  await assert.rejects(
    assertNeverAlone(systemDisk, base),
    /was started alone before, and .*data may hold writes/,
  );
});
