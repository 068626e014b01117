import assert from "node:assert/strict";
import { test } from "node:test";
import { corruptDatabase } from "./corrupt.ts";
import { MemoryDisk } from "./testing/memory.ts";

const PAGE = 4096;

/** A leaf page with one element. */
function leaf(key: Buffer, value: Buffer, flags = 0): Buffer {
  const page = Buffer.alloc(16 + 16 + key.length + value.length);
  page.writeUInt16LE(0x02, 8);
  page.writeUInt16LE(1, 10);
  page.writeUInt32LE(flags, 16);
  page.writeUInt32LE(16, 20);
  page.writeUInt32LE(key.length, 24);
  page.writeUInt32LE(value.length, 28);
  key.copy(page, 32);
  value.copy(page, 32 + key.length);
  return page;
}

const revision = Buffer.concat([Buffer.alloc(8), Buffer.from("_"), Buffer.alloc(8)]);

function file(...pages: Buffer[]): Buffer {
  const all = Buffer.alloc((pages.length + 2) * PAGE);
  pages.forEach((page, index) => page.copy(all, (index + 2) * PAGE));
  return all;
}

async function corrupted(pages: Buffer): Promise<{ pages: number; changed: number[] }> {
  const disk = new MemoryDisk();
  disk.files.set("db", Buffer.from(pages));
  const count = await corruptDatabase(disk, "db");
  const after = disk.files.get("db") ?? Buffer.alloc(0);
  return { pages: count, changed: [...pages.keys()].filter((at) => pages[at] !== after[at]) };
}

test("one byte at the end of a value is flipped in a page of keys", async () => {
  const page = leaf(revision, Buffer.from("value"));
  const found = await corrupted(file(page));
  assert.deepEqual(found, { pages: 1, changed: [2 * PAGE + page.length - 1] });
});

test("a bucket so small that it lies in its parent's page is found", async () => {
  const inner = leaf(revision, Buffer.from("value"));
  const bucket = Buffer.concat([Buffer.alloc(16), inner]);
  const found = await corrupted(file(leaf(Buffer.from("key"), bucket, 1)));
  assert.equal(found.pages, 1);
  assert.equal(found.changed.length, 1);
});

test("other buckets and pages are left alone, and no keys means no damage", async () => {
  const meta = leaf(Buffer.from("consistent_index"), Buffer.from("12345678"));
  assert.deepEqual(await corrupted(file(meta, Buffer.alloc(100, 0xff))), { pages: 0, changed: [] });
});
