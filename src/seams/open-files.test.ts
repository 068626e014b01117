import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
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
    assert.deepEqual(await openedBy(file), []);
    assert.deepEqual(await openedBy(path.join(dir, "absent")), []);
  } finally {
    rmSync(dir, { recursive: true });
  }
});
