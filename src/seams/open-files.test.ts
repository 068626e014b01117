import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { link, open } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { test } from "node:test";
import { openedBy } from "./open-files.ts";

test("a file that is open is told with the process, under any of its names, and no longer when it is closed", async (t) => {
  if (process.platform !== "linux") return t.skip("only Linux lists open files");
  const dir = mkdtempSync(path.join(os.tmpdir(), "quorate-open-"));
  try {
    const file = path.join(dir, "db");
    const handle = await open(file, "w");
    await link(file, path.join(dir, "other"));
    assert.deepEqual(await openedBy(path.join(dir, "other")), [process.pid]);
    await handle.close();
    // Only root sees all of them.
    assert.deepEqual(await openedBy(file), process.getuid?.() === 0 ? [] : undefined);
    assert.deepEqual(await openedBy(path.join(dir, "absent")), []);
  } finally {
    rmSync(dir, { recursive: true });
  }
});

test("where the files of a process are hidden, or processes are, it is not known whether somebody has the file open", async () => {
  const dir = mkdtempSync(path.join(os.tmpdir(), "quorate-open-"));
  try {
    const file = path.join(dir, "db");
    writeFileSync(file, "");
    const proc = path.join(dir, "proc");
    assert.equal(await openedBy(file, proc), undefined, "a system without such a list");
    mkdirSync(path.join(proc, "7", "fd"), { recursive: true });
    assert.equal(await openedBy(file, proc), undefined, "the first process is hidden");
    mkdirSync(path.join(proc, "1", "fd"), { recursive: true });
    mkdirSync(path.join(proc, "9"));
    assert.deepEqual(await openedBy(file, proc), [], "one has ended meanwhile");
    // It cannot be listed, as that of another user.
    writeFileSync(path.join(proc, "9", "fd"), "");
    assert.equal(await openedBy(file, proc), undefined);
    symlinkSync(file, path.join(proc, "7", "fd", "3"));
    assert.deepEqual(await openedBy(file, proc), [7], "one that is seen is enough");
  } finally {
    rmSync(dir, { recursive: true });
  }
});
