import assert from "node:assert/strict";
import { test } from "node:test";
import { zstdCompressSync } from "node:zlib";
import { findSnapshot } from "./catalog.ts";
import { copySnapshot } from "./copy.ts";
import { once } from "./store/store.ts";
import { never, sampleFile } from "./testing/fixtures.ts";
import { MemoryStore } from "./testing/memory-store.ts";

const file = sampleFile();

async function copied(bytes: Uint8Array, name = "etcdctl.db"): Promise<{ outcome: string; same: boolean }> {
  const [from, to] = [new MemoryStore(), new MemoryStore()];
  await from.put(name, once(bytes), { ifAbsent: true, signal: never });
  const entry = await findSnapshot(from, name, never);
  assert.ok(entry);
  try {
    const outcome = await copySnapshot({ from, entry, to, name, signal: never });
    return { outcome, same: to.objects.get(name)?.bytes.equals(bytes) === true };
  } catch (error) {
    assert.equal(to.objects.size, 0);
    return { outcome: (error as Error).message, same: false };
  }
}

test("a file of etcdctl is compared with the hash at its end, and a damaged one is not copied", async () => {
  assert.deepEqual(await copied(file), { outcome: "copied", same: true });
  for (const at of [9000, file.length >> 1, file.length - 40, file.length - 1]) {
    const flipped = Buffer.from(file);
    flipped[at] = 1 ^ (flipped[at] ?? 0);
    const { outcome } = await copied(flipped);
    assert.match(outcome, /etcdctl\.db is damaged: .* It was not copied; use another snapshot/, `byte ${at}`);
  }
  assert.match((await copied(file.subarray(0, -10))).outcome, /is damaged/);
});

test("what has neither manifest nor hash is copied, and said not to be verified", async () => {
  const database = file.subarray(0, -32);
  const objects = [database, zstdCompressSync(file), Buffer.from("of a person"), Buffer.alloc(0)];
  for (const bytes of objects) assert.deepEqual(await copied(bytes), { outcome: "unverified", same: true });
  const eco = "etcd-0_000000000000003d_etcd.backup";
  assert.deepEqual(await copied(database, eco), { outcome: "unverified", same: true });
});
