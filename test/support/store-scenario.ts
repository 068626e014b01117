/** What every real store has to do: keep objects as promised, and hold a cluster that is deleted and restored from it. */
import assert from "node:assert/strict";
import type { RestoreSource } from "../../src/api/bootstrap.ts";
import type { EtcdClient } from "../../src/etcd/client.ts";
import { systemRandom } from "../../src/seams/random.ts";
import type { Manifest } from "../../src/snapshot/manifest.ts";
import { PART_BYTES } from "../../src/snapshot/store/http/parts.ts";
import { once, readText, type Store } from "../../src/snapshot/store/store.ts";
import { LocalCluster } from "./local-cluster.ts";
import { snapshotJson } from "./snapshot-verbs.ts";

const signal = new AbortController().signal;
const write = { ifAbsent: true, signal };

/** `nowhere`: the same store with a bucket that does not exist. */
export async function keepsObjects(store: Store, nowhere: Store): Promise<void> {
  const large = Buffer.from(systemRandom.bytes(PART_BYTES * 2 + 4321));
  const body = async function* (): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < large.length; at += 1_000_000)
      yield await Promise.resolve(large.subarray(at, at + 1_000_000));
  };
  await store.put("small", once("hello"), write);
  await store.put("a b+c/large", body(), write);
  assert.equal(await readText(store, "small", signal), "hello");
  assert.ok((await read(store, "a b+c/large")).equals(large), "what was written in parts is read the same");
  assert.equal((await read(store, "small", { start: 1, length: 3 })).toString(), "ell");
  assert.equal((await store.head("a b+c/large", signal))?.size, large.length);
  assert.equal(await store.head("none", signal), undefined);
  for (const bytes of [once("other"), body()])
    await assert.rejects(store.put("small", bytes, write), { kind: "exists" });
  assert.equal(await readText(store, "small", signal), "hello");

  const failing = async function* (): AsyncGenerator<Uint8Array> {
    yield* body();
    throw new Error("the member went away");
  };
  await assert.rejects(store.put("broken", failing(), write), /went away/);
  await store.put("empty", once(""), write);
  const names = [];
  for await (const { name, size } of store.list("", signal)) names.push(`${name} ${size}`);
  assert.deepEqual(names, [`a b+c/large ${large.length}`, "empty 0", "small 5"]);

  await store.delete("small", signal);
  await store.delete("small", signal);
  await assert.rejects(readText(store, "small", signal), { kind: "not-found" });
  await assert.rejects(nowhere.put("a", once("x"), write), { kind: "no-place" });
  await assert.rejects(nowhere.list("", signal)[Symbol.asyncIterator]().next(), { kind: "no-place" });
}

async function read(store: Store, name: string, range?: { start: number; length: number }): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const part of store.get(name, { signal, ...(range && { range }) })) parts.push(part);
  return Buffer.concat(parts);
}

export interface Held {
  /** A folder, as the command takes it. */
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  /** As the spec of a cluster names an object in the folder. */
  readonly sourceOf: (object: string) => RestoreSource;
}

/** A cluster is saved, deleted with all of its data, and another one starts with the same keys. */
export async function survivesInStore({ folder, env, sourceOf }: Held): Promise<void> {
  // The controller of a cluster on this machine has the credentials of its environment.
  Object.assign(process.env, env);
  let keys: Map<string, string>;
  let manifest: Manifest & { readonly object: string };
  {
    await using source = await LocalCluster.start({ replicas: 1, version: "3.6.16" });
    const client = await source.client();
    for (let i = 0; i < 100; i++)
      await client.kv.put(`key-${i}`, `${i} ${Buffer.from(systemRandom.bytes(100_000)).toString("hex")}`);
    await client.kv.delete("key-7");
    const [record] = await source.records();
    assert.ok(record);
    const { url } = source.controller.platform.endpoint(record);
    manifest = await snapshotJson(["save", "--endpoints", url, folder], env);
    keys = await contentOf(client);
  }
  assert.ok(manifest.size > PART_BYTES, "written in parts");
  const restore = { source: sourceOf(manifest.object), checksum: manifest.sha256 };
  await using restored = await LocalCluster.start({
    replicas: 1,
    version: "3.6.16",
    bootstrap: { restore },
  });
  const client = await restored.client();
  assert.deepEqual(await contentOf(client), keys);
  const { header } = await client.kv.range("key-1", {});
  assert.ok(Number(header.revision) >= manifest.revision + 1_000_000_000, `revision ${header.revision}`);
}

async function contentOf({ kv }: EtcdClient): Promise<Map<string, string>> {
  const all = await kv.range("\0", { rangeEnd: "\0" });
  return new Map(
    all.kvs.map(({ key, value }) => [Buffer.from(key).toString(), Buffer.from(value).toString()]),
  );
}
