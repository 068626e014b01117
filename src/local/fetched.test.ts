import assert from "node:assert/strict";
import { test } from "node:test";
import { operationOf } from "../core/testing/operations.ts";
import { FetchedSnapshots } from "./fetched.ts";
import { layout } from "./layout.ts";
import { MemoryDisk } from "./testing/memory.ts";

const plan = "0123456789abcdef";
const source = { s3: { bucket: "backups", key: "demo.db" } };
const operation = operationOf({ kind: "restore", source, approve: plan });

async function fetchedOnce(): Promise<{ disk: MemoryDisk; fetched: FetchedSnapshots; path: string }> {
  const disk = new MemoryDisk();
  const path = `${layout("/demo").recovery(plan)}/snapshot.db`;
  const fetched = new FetchedSnapshots(layout("/demo"), disk, async () => {
    await disk.write(path, "data");
    return { path, sha256: "a".repeat(64), revision: 7 };
  });
  const restore = { source };
  await fetched.fetch({
    kind: "FetchSnapshot",
    plan,
    restore,
    version: "3.6.16",
    attempt: 1,
    operation: operation.uid,
  });
  return { disk, fetched, path };
}

test("a fetched snapshot is found again for its own operation", async () => {
  const { fetched, path } = await fetchedOnce();
  const found = await fetched.found([operation]);
  assert.deepEqual(found, {
    plan,
    source: { file: { path } },
    sha256: "a".repeat(64),
    revision: 7,
  });
});

test("what another operation fetched for the same plan is fetched again: the object may be another one by now", async () => {
  const { fetched } = await fetchedOnce();
  assert.equal(await fetched.found([{ ...operation, uid: "uid-of-later" }]), undefined);
});

test("a snapshot whose file is gone is not at hand", async () => {
  const { disk, fetched, path } = await fetchedOnce();
  await disk.remove(path);
  assert.equal(await fetched.found([operation]), undefined);
});
