import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { findSnapshot, listSnapshots } from "./catalog.ts";
import { parseKey, KeyError } from "./codec/key.ts";
import { copySnapshot } from "./copy.ts";
import { SnapshotDamaged } from "./inspect.ts";
import { manifestName, parseManifest } from "./manifest.ts";
import { checkSnapshot, SnapshotReader } from "./read.ts";
import { saveSnapshot, type SaveProgress } from "./save.ts";
import { RpcFailure } from "../seams/etcd-transport.ts";
import { once } from "./store/store.ts";
import { clientSending, never, sampleFile, surroundings } from "./testing/fixtures.ts";
import { FaultyStore, MemoryStore } from "./testing/memory-store.ts";

const file = sampleFile();
const key = parseKey(Buffer.alloc(32, 7), "test");
const other = parseKey(Buffer.alloc(32, 8), "test");
const encodings = [
  { compression: "none" },
  { compression: "zstd" },
  { compression: "none", key },
  { compression: "zstd", key },
] as const;

test("without compression and encryption the object is what the member sent, byte for byte", async () => {
  const store = new MemoryStore();
  const events: SaveProgress[] = [];
  const options = {
    client: clientSending(file),
    store,
    name: "day/",
    ...surroundings,
    compression: "none",
  } as const;
  const manifest = await saveSnapshot({ ...options, hashKv: true, progress: (event) => events.push(event) });
  const name = `day/${manifest.object}`;
  assert.match(name, /^day\/etcd-abc-\d{8}T\d{6}Z-[0-9a-f]{4}\.db$/);
  assert.ok(store.objects.get(name)?.bytes.equals(file));
  assert.deepEqual(manifest.member, { id: "2", name: "m2", endpoint: "http://m2:2379" }, "not the leader");
  assert.equal(manifest.sha256, createHash("sha256").update(file).digest("hex"));
  assert.deepEqual([manifest.revision, manifest.totalKeys, manifest.storageVersion], [61, 60, "3.6.0"]);
  assert.deepEqual(manifest.hashKv, { hash: 77, revision: 61, compactRevision: -1 });
  assert.deepEqual(
    parseManifest(store.objects.get(manifestName(name))?.bytes.toString() ?? "", "here"),
    manifest,
  );
  assert.equal(
    events.some((event) => event.kind === "bytes" && event.of === file.length),
    true,
  );
});

test("which life of the cluster it is of is in the manifest as it was told, and nothing where nobody told it", async () => {
  const store = new MemoryStore();
  const save = async (name: string, life?: { token: string; life: number }) => {
    const { token, life: number } = await saveSnapshot({
      client: clientSending(file),
      store,
      name,
      life,
      ...surroundings,
      compression: "none",
    });
    const read = parseManifest(store.objects.get(manifestName(name))?.bytes.toString() ?? "", "here");
    assert.deepEqual([read.token, read.life], [token, number]);
    return [token, number];
  };
  assert.deepEqual(await save("a.db", { token: "uid-of-demo-2", life: 2 }), ["uid-of-demo-2", 2]);
  assert.deepEqual(await save("b.db"), [undefined, undefined]);
});

for (const encoding of encodings) {
  const title = `${encoding.compression}${"key" in encoding ? " with a key" : ""}`;
  test(`${title}: what was saved is read back and checked`, async () => {
    const store = new MemoryStore();
    const manifest = await saveSnapshot({
      client: clientSending(file),
      store,
      name: "",
      ...surroundings,
      ...encoding,
    });
    const stored = store.objects.get(manifest.object)?.bytes ?? Buffer.alloc(0);
    assert.equal(manifest.stored.size, stored.length);
    assert.equal(manifest.stored.sha256, createHash("sha256").update(stored).digest("hex"));
    const parts: Buffer[] = [];
    for await (const part of new SnapshotReader({
      store,
      name: manifest.object,
      manifest,
      key,
      signal: never,
    }))
      parts.push(Buffer.from(part));
    assert.ok(Buffer.concat(parts).equals(file));
  });

  test(`${title}: a cut and a wrong byte anywhere are found when it is read`, async () => {
    const store = new FaultyStore();
    const manifest = await saveSnapshot({
      client: clientSending(file),
      store,
      name: "",
      ...surroundings,
      ...encoding,
    });
    const { size } = manifest.stored;
    for (let i = 0; i < 10; i++) {
      const at = Math.floor((size * i) / 10);
      for (const faults of [{ cutReadAt: at }, { flipReadAt: at }]) {
        store.faults = faults;
        // A byte of the header may name another key, which is told as such.
        const found = (error: unknown) => error instanceof SnapshotDamaged || error instanceof KeyError;
        const read = (known: typeof manifest | undefined) =>
          checkSnapshot({ store, name: manifest.object, manifest: known, key, signal: never });
        await assert.rejects(read(manifest), found, JSON.stringify(faults));
        // Some bits of a compressed object mean nothing; then the snapshot in it is whole all the same.
        const plain = await read(undefined).catch((error: unknown) => {
          if (!found(error)) throw error;
        });
        if (plain) assert.deepEqual([plain.sha256, encoding], [manifest.sha256, { compression: "zstd" }]);
      }
    }
  });
}

test("the wrong key and no key are told by the key's ID", async () => {
  const store = new MemoryStore();
  const { object: name } = await saveSnapshot({
    client: clientSending(file),
    store,
    name: "",
    ...surroundings,
    compression: "zstd",
    key,
  });
  const read = (given?: typeof key) => checkSnapshot({ store, name, key: given, signal: never });
  await assert.rejects(
    read(other),
    new RegExp(`encrypted with key ${key.id}, and the key given is ${other.id}`),
  );
  await assert.rejects(read(), new RegExp(`encrypted with key ${key.id}: pass that key`));
});

test("a plain object in the place of an encrypted one is refused", async () => {
  const store = new MemoryStore();
  const save = async (name: string, encoding: { key?: typeof key }) =>
    await saveSnapshot({
      client: clientSending(file),
      store,
      name,
      ...surroundings,
      compression: "none",
      ...encoding,
    });
  const manifest = await save("a.db", { key });
  await save("plain.db", {});
  const plain = store.objects.get("plain.db");
  assert.ok(plain);
  store.objects.set("a.db", plain);
  const read = (options: object) => checkSnapshot({ store, name: "a.db", signal: never, ...options });
  await assert.rejects(read({ manifest, key }), /not encrypted, and its manifest says that it is/);
  await assert.rejects(read({ manifest }), /not encrypted, and its manifest says that it is/);
  await assert.rejects(read({ key, encrypted: true }), (error) => {
    assert.ok(error instanceof KeyError);
    assert.match(error.message, /a\.db is not encrypted, and a key was given/);
    return true;
  });
  assert.equal((await read({ key })).sha256, (await read({})).sha256, "where nobody says that it must be");
});

test("two encrypted snapshots of the same data have nothing in common", async () => {
  const stored = await Promise.all(
    ["a.db", "b.db"].map(async (name) => {
      const store = new MemoryStore();
      await saveSnapshot({
        client: clientSending(file),
        store,
        name,
        ...surroundings,
        compression: "none",
        key,
      });
      return store.objects.get(name)?.bytes ?? Buffer.alloc(0);
    }),
  );
  assert.ok(!stored[0]?.subarray(52, 1052).equals(stored[1]?.subarray(52, 1052) ?? Buffer.alloc(0)));
});

test("a write that is cut off leaves nothing that looks like a snapshot", async () => {
  const store = new FaultyStore();
  store.faults = { cutWriteAt: 100_000 };
  const options = {
    client: clientSending(file),
    store,
    name: "",
    ...surroundings,
    compression: "none",
  } as const;
  await assert.rejects(saveSnapshot(options), { kind: "interrupted" });
  assert.deepEqual(await listSnapshots(store, "", never), []);
});

test("a member that stops sending is followed by the next one", async () => {
  const store = new MemoryStore();
  const events: SaveProgress[] = [];
  const client = clientSending(file, (endpoint) => (endpoint === "m2" ? 100_000 : undefined));
  const manifest = await saveSnapshot({
    client,
    store,
    name: "",
    ...surroundings,
    compression: "none",
    progress: (event) => events.push(event),
  });
  assert.equal(manifest.member.id, "1");
  assert.equal(events.filter(({ kind }) => kind === "retry").length, 1);
  assert.equal(store.objects.size, 2);
});

test("a hash that cannot be had is told and left out; the snapshot is neither lost nor sent again", async () => {
  const store = new MemoryStore();
  const events: SaveProgress[] = [];
  const refusal = new RpcFailure("PERMISSION_DENIED", "etcdserver: permission denied", "answered");
  const manifest = await saveSnapshot({
    client: clientSending(file, undefined, () => refusal),
    store,
    name: "a.db",
    ...surroundings,
    compression: "none",
    hashKv: true,
    progress: (event) => events.push(event),
  });
  assert.equal(manifest.hashKv, undefined);
  assert.equal((await findSnapshot(store, "a.db", never))?.state, "complete");
  const told = events.find(({ kind }) => kind === "no-hash");
  assert.match(told?.kind === "no-hash" ? told.error.message : "", /permission denied/);
  assert.ok(!events.some(({ kind }) => kind === "retry"));
});

test("whoever aborts while the hash is asked for gets no manifest without it", async () => {
  const store = new MemoryStore();
  const abort = new AbortController();
  const client = clientSending(file, undefined, () => {
    abort.abort();
    return new RpcFailure("CANCELLED", "cancelled", "interrupted");
  });
  const options = {
    client,
    store,
    name: "a.db",
    ...surroundings,
    compression: "none",
    hashKv: true,
  } as const;
  await assert.rejects(saveSnapshot({ ...options, signal: abort.signal }));
  assert.equal((await findSnapshot(store, "a.db", never))?.state, "plain");
});

test("a damaged stream is refused and leaves nothing", async () => {
  const store = new MemoryStore();
  const wrong = Buffer.from(file);
  wrong[200_000] = (wrong[200_000] ?? 0) ^ 1;
  const options = {
    client: clientSending(wrong),
    store,
    name: "",
    ...surroundings,
    compression: "none",
  } as const;
  await assert.rejects(saveSnapshot(options), /does not match its content/);
  assert.equal(store.objects.size, 0);
});

test("an existing name is never overwritten", async () => {
  const store = new MemoryStore();
  await store.put("a.db", once("mine"), { ifAbsent: true, signal: never });
  const options = {
    client: clientSending(file),
    store,
    name: "a.db",
    ...surroundings,
    compression: "none",
  } as const;
  await assert.rejects(saveSnapshot(options), { kind: "exists" });
  assert.equal(store.objects.get("a.db")?.bytes.toString(), "mine");
});

test("the catalogue tells complete, plain and damaged snapshots apart, and a listing out of date", async () => {
  const store = new FaultyStore();
  const save = async (name: string) =>
    await saveSnapshot({ client: clientSending(file), store, name, ...surroundings, compression: "none" });
  await save("good.db");
  await save("short.db");
  await save("gone.db");
  await save("hidden.db");
  await store.put("etcdctl.db", once(file), { ifAbsent: true, signal: never });
  await store.put("broken.db", once("x"), { ifAbsent: true, signal: never });
  await store.put(manifestName("broken.db"), once("{"), { ifAbsent: true, signal: never });
  const short = store.objects.get("short.db");
  if (short) short.bytes = short.bytes.subarray(0, 5000);
  store.objects.delete("gone.db");
  store.faults = {
    hideFromList: new Set(["hidden.db"]),
    showInList: [{ name: "deleted.db", size: 5, modifiedAt: new Date(0) }],
  };
  const states = (await listSnapshots(store, "", never)).map(({ name, state }) => [name, state]);
  assert.deepEqual(Object.fromEntries(states), {
    "good.db": "complete",
    "hidden.db": "complete",
    "short.db": "damaged",
    "gone.db": "orphan",
    "broken.db": "damaged",
    "etcdctl.db": "plain",
    "deleted.db": "plain",
  });
  assert.equal(await findSnapshot(store, "deleted.db", never), undefined);
});

test("a copy is byte for byte the same, is not made twice, and a damaged source is not copied", async () => {
  const [from, to] = [new FaultyStore(), new MemoryStore()];
  await saveSnapshot({
    client: clientSending(file),
    store: from,
    name: "a.db",
    ...surroundings,
    compression: "zstd",
    key,
  });
  const entry = await findSnapshot(from, "a.db", never);
  assert.ok(entry);
  from.faults = { flipReadAt: 60 };
  await assert.rejects(copySnapshot({ from, entry, to, name: "b.db", signal: never }), /is damaged/);
  from.faults = {};
  assert.equal(to.objects.size, 0);
  assert.equal(await copySnapshot({ from, entry, to, name: "b.db", signal: never }), "copied");
  assert.equal(await copySnapshot({ from, entry, to, name: "b.db", signal: never }), "there");
  assert.ok(to.objects.get("b.db")?.bytes.equals(from.objects.get("a.db")?.bytes ?? Buffer.alloc(0)));
  assert.equal((await findSnapshot(to, "b.db", never))?.state, "complete");
});
