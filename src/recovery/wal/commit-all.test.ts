import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { systemDisk } from "../../seams/disk.ts";
import { WalWriter } from "../testing/wal-file.ts";
import { commitAll } from "./commit-all.ts";
import { readLog } from "./log.ts";

test("every entry is committed, and nothing else of the log is another one: also where its end was torn", async (t) => {
  const dir = mkdtempSync(path.join(os.tmpdir(), "quorate-wal-"));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  const log = new WalWriter()
    .entries(1, 1, 3)
    .state({ term: 2, vote: "a1", commit: 2 })
    .cut()
    .entries(2, 4, 7);
  const whole = log.length;
  const [first, last] = log.entry({ term: 2, index: 8 }, "x".repeat(2000)).files() as [Buffer, Buffer];
  const files = {
    clean: [first, Buffer.concat([last.subarray(0, whole), Buffer.alloc(4096)])],
    cut: [first, last.subarray(0, whole + 700)],
    zeroed: [
      first,
      Buffer.concat([last.subarray(0, Math.ceil((whole + 100) / 512) * 512), Buffer.alloc(4096)]),
    ],
  };
  for (const [kind, bytes] of Object.entries(files)) {
    rmSync(dir, { recursive: true, force: true });
    log.save(dir, bytes);
    const before = await readLog(systemDisk, dir, dir);
    assert.deepEqual([before?.last.index, before?.state.commit], [7, 2], kind);
    await commitAll(systemDisk, dir, dir);
    const state = { term: 2, vote: "a1", commit: 7 };
    assert.deepEqual(await readLog(systemDisk, dir, dir), { ...before, state, torn: false }, kind);
  }
});
