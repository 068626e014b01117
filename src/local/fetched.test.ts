import assert from "node:assert/strict";
import { test } from "node:test";
import { operationOf } from "../core/testing/operations.ts";
import { FetchedSnapshots, type Fetcher } from "./fetched.ts";
import { layout } from "./layout.ts";
import { MemoryDisk } from "./testing/memory.ts";

const plan = "0123456789abcdef";
const source = { s3: { bucket: "backups", key: "demo.db" } };
const operation = operationOf({ kind: "restore", source, approve: plan });

const action = {
  kind: "FetchSnapshot",
  plan,
  restore: { source },
  version: "3.6.16",
  attempt: 1,
  operation: operation.uid,
} as const;

async function fetchedOnce(): Promise<{ disk: MemoryDisk; fetched: FetchedSnapshots; path: string }> {
  const disk = new MemoryDisk();
  const path = `${layout("/demo").recovery(plan)}/snapshot.db`;
  const ended = Promise.withResolvers<void>();
  const fetched = new FetchedSnapshots(
    layout("/demo"),
    disk,
    async () => {
      await disk.write(path, "data");
      return { path, sha256: "a".repeat(64), revision: 7 };
    },
    ended.resolve,
  );
  await fetched.begin(action);
  await ended.promise;
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

function world() {
  const begun: { tell: (text: string) => void; signal: AbortSignal }[] = [];
  let ends = Promise.withResolvers<never>();
  let events = 0;
  const fetcher: Fetcher = async (_request, tell, signal) => {
    begun.push({ tell, signal });
    const { promise, reject } = ends;
    signal.addEventListener("abort", () => reject(new Error("aborted")));
    return await promise;
  };
  const fetched = new FetchedSnapshots(layout("/demo"), new MemoryDisk(), fetcher, () => events++);
  return {
    fetched,
    begun,
    events: () => events,
    fail: async (error: Error) => {
      ends.reject(error);
      await ends.promise.catch(() => undefined);
      await new Promise(setImmediate);
      ends = Promise.withResolvers<never>();
    },
  };
}

test("a fetch runs in the background; how far it is, and how it failed, is told", async () => {
  const { fetched, begun, events, fail } = world();
  const facts = async () => (await fetched.facts([operation])).fetch;
  await fetched.begin(action);
  assert.deepEqual(await facts(), { plan, attempt: 1, state: "running", why: "starting" });
  await new Promise(setImmediate);
  begun[0]?.tell("10 % read");
  begun[0]?.tell("10 % read");
  assert.deepEqual([(await facts())?.why, events()], ["10 % read", 1]);
  await fail(Object.assign(new Error("no answer"), { fault: "unreachable" }));
  assert.deepEqual(await facts(), { plan, attempt: 1, state: "failed", why: "no answer" });
  await fetched.begin({ ...action, attempt: 2 });
  assert.equal((await facts())?.attempt, 2);
  await new Promise(setImmediate);
  await fail(Object.assign(new Error("damaged"), { fault: "damaged" }));
  assert.deepEqual(await facts(), { plan, attempt: 2, state: "failed", why: "damaged", definite: true });
});

test("one whose operation is deleted, or whose controller stops, is ended", async () => {
  const { fetched, begun } = world();
  await fetched.begin(action);
  await new Promise(setImmediate);
  assert.deepEqual(await fetched.facts([{ ...operation, deleting: true }]), {});
  assert.equal(begun[0]?.signal.aborted, true);
  const again = world();
  await again.fetched.begin(action);
  await new Promise(setImmediate);
  await again.fetched.close();
  assert.equal(again.begun[0]?.signal.aborted, true);
});
