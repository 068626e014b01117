import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { test, type TestContext } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { systemDisk } from "../../seams/disk.ts";
import { saveSnapshotFile, WalWriter } from "../testing/wal-file.ts";
import { crc32c } from "./crc32c.ts";
import { LogDamaged, readLog } from "./log.ts";

function directory(t: TestContext) {
  const dir = mkdtempSync(path.join(os.tmpdir(), "quorate-wal-"));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  const [wal, snap] = [path.join(dir, "wal"), path.join(dir, "snap")];
  return { wal, snap, read: () => readLog(systemDisk, wal, snap) };
}

const state = (term: number, commit: number) => ({ term, vote: "a1", commit });

/** The log of a member that has three entries in term 1 and two in term 2. */
const fiveEntries = () => new WalWriter().entries(1, 1, 3).state(state(1, 3)).entries(2, 4, 5);

test("the checksum is CRC-32C and continues from what was before", () => {
  assert.equal(crc32c(Buffer.from("123456789")), 0xe3069283);
  assert.equal(crc32c(Buffer.from("6789"), crc32c(Buffer.from("12345"))), 0xe3069283);
});

test("a log tells whose it is, its term, vote, commit and last entry", async (t) => {
  const { wal, read } = directory(t);
  fiveEntries().state(state(2, 4)).save(wal);
  assert.deepEqual(await read(), {
    memberID: "a1",
    clusterID: "c1",
    state: { term: 2, vote: "a1", commit: 4 },
    snapshot: { term: 0, index: 0 },
    last: { term: 2, index: 5 },
    torn: false,
  });
});

test("without a log there is nothing to tell", async (t) => {
  assert.equal(await directory(t).read(), undefined);
});

test("a log goes on over several files", async (t) => {
  const { wal, read } = directory(t);
  fiveEntries().cut().state(state(2, 5)).entries(2, 6, 9).save(wal);
  assert.deepEqual((await read())?.last, { term: 2, index: 9 });
});

test("an entry of a later term takes the place of those from its index on", async (t) => {
  const { wal, read } = directory(t);
  new WalWriter().entries(1, 1, 9).state(state(1, 4)).entries(3, 5, 6).state(state(3, 5)).save(wal);
  assert.deepEqual((await read())?.last, { term: 3, index: 6 });
});

test("a log continues from the newest raft snapshot that is committed and whole", async (t) => {
  const { wal, snap, read } = directory(t);
  const log = fiveEntries().state(state(2, 5)).snapshot({ term: 2, index: 5 });
  // A snapshot from the leader, far ahead of what this member had.
  log.snapshot({ term: 4, index: 100 }).state(state(4, 100)).entries(4, 101, 103);
  log.snapshot({ term: 4, index: 103 });
  log.save(wal);
  saveSnapshotFile(snap, { term: 2, index: 5 });
  saveSnapshotFile(snap, { term: 4, index: 100 });
  saveSnapshotFile(snap, { term: 4, index: 103 });
  const found = await read();
  assert.deepEqual(found?.snapshot, { term: 4, index: 100 });
  assert.deepEqual(found.last, { term: 4, index: 103 });
});

test("a raft snapshot alone is the end of a log whose entries are all before it", async (t) => {
  const { wal, snap, read } = directory(t);
  fiveEntries().snapshot({ term: 4, index: 100 }).state(state(4, 100)).save(wal);
  saveSnapshotFile(snap, { term: 4, index: 100 });
  assert.deepEqual((await read())?.last, { term: 4, index: 100 });
});

test("a damaged snapshot file is passed over, and without any the log cannot be used", async (t) => {
  const { wal, snap, read } = directory(t);
  fiveEntries().state(state(2, 5)).snapshot({ term: 2, index: 5 }).entries(2, 6, 7).save(wal);
  saveSnapshotFile(snap, { term: 2, index: 5 }, true);
  assert.deepEqual((await read())?.snapshot, { term: 0, index: 0 });
  rmSync(wal, { recursive: true });
  const purged = new WalWriter().entries(1, 1, 3).cut().state(state(2, 9)).snapshot({ term: 2, index: 9 });
  purged.save(wal, purged.files());
  rmSync(path.join(wal, "0000000000000000-0000000000000000.wal"));
  await assert.rejects(read(), /no raft snapshot that it names is whole/);
});

test("a record that was not written whole is cut off, wherever the write ended", async (t) => {
  const { wal, read } = directory(t);
  const whole = fiveEntries().length;
  const long = fiveEntries().entry({ term: 2, index: 6 }, "x".repeat(2000));
  const [file] = long.files() as [Buffer];
  for (let cut = whole + 1; cut < long.length; cut += 97) {
    // What the file system had not written yet is missing, or reads as zeros from the next sector on.
    for (const bytes of [file.subarray(0, cut), zeroed(file, Math.ceil(cut / 512) * 512)]) {
      long.save(wal, [bytes]);
      const found = await read();
      const isWritten = bytes.equals(file);
      assert.deepEqual([found?.torn, found?.last.index], isWritten ? [false, 6] : [true, 5], `at ${cut}`);
    }
  }
});

test("a changed byte is damage and never passes for the end of the log", async (t) => {
  const { wal, read } = directory(t);
  const log = fiveEntries().cut().state(state(2, 5)).entries(2, 6, 8);
  const files = log.files();
  log.save(wal);
  const unchanged = await read();
  for (const [index, file] of files.entries()) {
    const length = index === 0 ? file.length : log.length;
    for (let at = 8; at < length; at += 13) {
      const changed = Buffer.from(file);
      changed.writeUInt8((changed[at] ?? 0) ^ 0x40, at);
      log.save(wal, files.with(index, changed));
      const found = await read().catch((error: unknown) => error);
      // In the last file, a length that leads beyond its end is what a torn write looks like to etcd too. A few bits,
      // such as those of the padding, mean nothing.
      const isHonest =
        found instanceof LogDamaged ||
        (index === 1 && (found as { torn: boolean }).torn) ||
        isDeepStrictEqual(found, unchanged);
      assert.ok(isHonest, `file ${index}, byte ${at}: ${JSON.stringify(found)}`);
    }
  }
});

test("a missing file, and files of different members, are damage", async (t) => {
  const { wal, read } = directory(t);
  const log = fiveEntries().cut().entries(2, 6, 8).cut().state(state(2, 8));
  log.save(wal);
  rmSync(path.join(wal, "0000000000000001-000000000000000a.wal"));
  await assert.rejects(read(), /the file before number 2 is missing/);
  rmSync(wal, { recursive: true });
  const gap = new WalWriter().entries(1, 1, 3).entries(1, 6, 7).state(state(1, 7));
  gap.save(wal);
  await assert.rejects(read(), /entries 4 to 5 are missing/);
});

function zeroed(file: Buffer, from: number): Buffer {
  const bytes = Buffer.from(file);
  bytes.fill(0, Math.min(from, bytes.length));
  return bytes;
}
