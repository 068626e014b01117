import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import { inspectSnapshot, SnapshotDamaged } from "./inspect.ts";
import { snapshotFile, type RevisionRecord } from "./testing/database.ts";

async function* cutInto(bytes: Uint8Array, ...sizes: number[]): AsyncGenerator<Uint8Array> {
  let at = 0;
  for (let i = 0; at < bytes.length; i++) {
    const size = sizes[i % sizes.length] ?? 4096;
    yield await Promise.resolve(bytes.subarray(at, at + size));
    at += size;
  }
}

const put = (main: number, key: string, value = "v", sub = 0): RevisionRecord => ({ main, sub, key, value });
const del = (main: number, key: string, sub = 0): RevisionRecord => ({ main, sub, key });

test("an empty cluster has revision 0 and no keys, as etcdutl prints it", async () => {
  const file = snapshotFile({ leaves: [], storageVersion: "3.6.0" });
  assert.deepEqual(await inspectSnapshot(cutInto(file, 1000)), {
    size: file.length,
    sha256: createHash("sha256").update(file).digest("hex"),
    database: {
      size: file.length - 32,
      revision: 0,
      totalKeys: 0,
      totalEntries: 2,
      storageVersion: "3.6.0",
    },
  });
});

test("a deleted key does not count, one that was put again does", async () => {
  const leaves = [[put(2, "a"), put(3, "b"), put(4, "c")], [del(5, "a"), del(6, "b")], [put(7, "a")]];
  const { database } = await inspectSnapshot(cutInto(snapshotFile({ leaves })));
  assert.deepEqual([database.revision, database.totalKeys, database.totalEntries], [7, 2, 7]);
});

test("pages that no transaction reaches any more do not count", async () => {
  const options = { leaves: [[put(9, "a")]], stale: [[put(2, "gone"), put(30, "newer than the snapshot")]] };
  const { database } = await inspectSnapshot(cutInto(snapshotFile(options)));
  assert.deepEqual([database.revision, database.totalKeys, database.totalEntries], [9, 1, 2]);
});

test("the record without a key that raising the revision leaves is no key, and no damage", async () => {
  const bumped = [put(2, "a"), put(3, "b"), put(1_000_000_003, "", "")];
  for (const leaves of [[bumped], [bumped, [put(1_000_000_004, "c")]]]) {
    const { database } = await inspectSnapshot(cutInto(snapshotFile({ leaves })));
    const added = leaves.length - 1;
    assert.deepEqual([database.revision, database.totalKeys], [1_000_000_003 + added, 2 + added]);
  }
});

test("a revision beyond 32 bits is told exactly", async () => {
  const { database } = await inspectSnapshot(cutInto(snapshotFile({ leaves: [[put(2 ** 40 + 5, "a")]] })));
  assert.equal(database.revision, 2 ** 40 + 5);
});

/** A history of puts and deletes over a few keys, and where the leaves are cut. */
const histories = fc.record({
  operations: fc.array(
    fc.record({ key: fc.nat(12), deletes: fc.boolean(), bytes: fc.constantFrom(1, 40, 3000, 20_000) }),
    { maxLength: 60 },
  ),
  perLeaf: fc.integer({ min: 1, max: 9 }),
  fanOut: fc.integer({ min: 2, max: 5 }),
  cuts: fc.array(fc.integer({ min: 1, max: 70_000 }), { minLength: 1, maxLength: 5 }),
  seed: fc.nat(),
  pageSize: fc.constantFrom(4096, 16_384),
});

test("revision and keys are those of the model, whatever the order of pages, overflow and stale pages", async () => {
  await fc.assert(
    fc.asyncProperty(histories, async ({ operations, perLeaf, fanOut, cuts, seed, pageSize }) => {
      const live = new Set<string>();
      const records: RevisionRecord[] = [];
      for (const [index, { key, deletes, bytes }] of operations.entries()) {
        const name = `key-${key}`.padEnd(key * 30, "x");
        if (deletes && !live.has(name)) continue;
        if (deletes) live.delete(name);
        else live.add(name);
        records.push(deletes ? del(index + 2, name) : put(index + 2, name, "v".repeat(bytes)));
      }
      const leaves: RevisionRecord[][] = [];
      for (let i = 0; i < records.length; i += perLeaf) leaves.push(records.slice(i, i + perLeaf));
      const shuffle = <T>(pages: readonly T[]) =>
        pages.toSorted(
          (a, b) => ((pages.indexOf(a) * 7919 + seed) % 31) - ((pages.indexOf(b) * 7919 + seed) % 31),
        );
      const stale = leaves
        .slice(0, 3)
        .map((leaf) => leaf.map((one) => ({ ...one, key: `stale-${one.key}` })));
      const file = snapshotFile({ leaves, stale, shuffle, fanOut, pageSize });
      const { database, sha256 } = await inspectSnapshot(cutInto(file, ...cuts));
      assert.equal(database.totalKeys, live.size);
      assert.equal(database.revision, records.at(-1)?.main ?? 0);
      assert.equal(database.totalEntries, records.length + 1);
      assert.equal(sha256, createHash("sha256").update(file).digest("hex"));
    }),
    { numRuns: 60 },
  );
});

test("a snapshot that is cut off anywhere, or has one wrong byte, is refused", async () => {
  const leaves = Array.from({ length: 20 }, (_, leaf) =>
    Array.from({ length: 5 }, (_, i) => put(2 + leaf * 5 + i, `k${i}`, "v".repeat(500))),
  );
  const file = snapshotFile({ leaves });
  await fc.assert(
    fc.asyncProperty(fc.nat(file.length - 1), fc.boolean(), async (at, cut) => {
      const broken = Buffer.from(cut ? file.subarray(0, at) : file);
      if (!cut) broken[at] = (broken[at] ?? 0) ^ 0x10;
      await assert.rejects(inspectSnapshot(cutInto(broken)), SnapshotDamaged);
    }),
    { numRuns: 80 },
  );
});

test("a copied database without its hash is refused by name", async () => {
  const file = snapshotFile({ leaves: [[put(2, "a")]] }).subarray(0, -32);
  await assert.rejects(inspectSnapshot(cutInto(file)), /copied database file/);
});

test("a tree that is broken behind a right hash is refused", async () => {
  const file = snapshotFile({ leaves: [[put(2, "a")], [put(3, "b")]] });
  // The second leaf's page number.
  file.writeBigUInt64LE(77n, 4096 * 5);
  createHash("sha256")
    .update(file.subarray(0, -32))
    .digest()
    .copy(file, file.length - 32);
  await assert.rejects(inspectSnapshot(cutInto(file)), /page 5 is not a valid page/);
});

test("the auth revision and the compacted revision are read from etcd's own buckets", async () => {
  const leaves = [[put(5, "a", "1")]];
  const file = snapshotFile({ leaves, authRevision: 7, compactRevision: 2 ** 33, storageVersion: "3.6.0" });
  const { database } = await inspectSnapshot(cutInto(file, 10_000));
  assert.equal(database.authRevision, 7);
  assert.equal(database.compactRevision, 2 ** 33);
  assert.equal(database.storageVersion, "3.6.0");
  const plain = await inspectSnapshot(cutInto(snapshotFile({ leaves }), 10_000));
  for (const authEnabled of [true, false, undefined]) {
    const options = { leaves, authRevision: 7, ...(authEnabled !== undefined && { authEnabled }) };
    const { database } = await inspectSnapshot(cutInto(snapshotFile(options), 10_000));
    assert.equal(database.authEnabled, authEnabled ?? false);
  }
  assert.equal("authEnabled" in plain.database, false);
  assert.equal("authRevision" in plain.database || "compactRevision" in plain.database, false);
});
