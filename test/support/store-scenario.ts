/** What every real store has to do: keep objects as promised, and hold a cluster that is deleted and restored from it. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import type { RestoreSource } from "../../src/api/bootstrap.ts";
import type { EtcdClusterSpecInput } from "../../src/api/etcd-cluster-spec.ts";
import type { EtcdClient } from "../../src/etcd/client.ts";
import { snapshotRestore, snapshotStatus } from "../../src/etcd/etcdutl.ts";
import { systemRandom } from "../../src/seams/random.ts";
import type { Manifest } from "../../src/snapshot/manifest.ts";
import { PART_BYTES } from "../../src/snapshot/store/http/parts.ts";
import { once, readText, type Store } from "../../src/snapshot/store/store.ts";
import { etcdOf } from "./etcd-cluster.ts";
import { newestVersions } from "./etcd-versions.ts";
import { apply, hasReason, Somebody } from "./local-auth.ts";
import { LocalCluster } from "./local-cluster.ts";
import { sampled } from "./sample.ts";
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
  /** A folder, as the command takes it; and the same as a store. */
  readonly folder: string;
  readonly store: Store;
  readonly env: Readonly<Record<string, string>>;
  /** As the spec of a cluster names an object in the folder. */
  readonly sourceOf: (object: string) => RestoreSource;
}

/** All that have etcdutl; `npm test` takes one. */
export const restoredVersions = sampled(newestVersions.filter((version) => !version.startsWith("3.4")));

const TTL = 36_000;
const LEASE = 77n;
const auth: EtcdClusterSpecInput["auth"] = { enabled: true, clientRoles: [] };

/**
 * A cluster with TLS and users is saved, deleted with all of its data, and another one starts with the same keys, leases
 * and users. etcd's own tool restores the object too.
 */
export async function survivesInStore(
  version: string,
  { folder, env, sourceOf, store }: Held,
): Promise<void> {
  // The controller of a cluster on this machine has the credentials of its environment.
  Object.assign(process.env, env);
  const spec = { replicas: 1, version, tls: { mode: "Managed" }, auth } as const;
  let keys: Map<string, string>;
  let manifest: Manifest;
  {
    await using source = await LocalCluster.start(spec);
    await apply(source, "EtcdRole", "reader", { permissions: [{ access: "Read", key: "key-1" }] });
    await apply(source, "EtcdUser", "alice", { roles: ["reader"] });
    await hasReason(source, "EtcdUser", "alice", "Applied");
    const client = await source.client();
    for (let i = 0; i < 100; i++)
      await client.kv.put(`key-${i}`, `${i} ${Buffer.from(systemRandom.bytes(100_000)).toString("hex")}`);
    await client.kv.delete("key-7");
    await client.lease.grant(TTL, { id: LEASE });
    await client.kv.put("leased", "for a while", { lease: LEASE });
    const [record] = await source.records();
    assert.ok(record);
    const { certificates } = source.controller.platform;
    const { ca, cert, key } = certificates.controllerFiles();
    const { url } = source.controller.platform.endpoint(record);
    const by = ["--endpoints", url, "--cacert", ca, "--cert", cert, "--key", key];
    manifest = await snapshotJson(["save", ...by, folder], env);
    keys = await contentOf(client);
  }
  assert.ok(manifest.size > PART_BYTES, "written in parts");
  await restoresPlainly(version, store, manifest);
  const restore = { source: sourceOf(manifest.object), checksum: manifest.sha256 };
  await using restored = await LocalCluster.start({ ...spec, bootstrap: { restore } });
  const client = await restored.client();
  assert.deepEqual(await contentOf(client), keys);
  const { header } = await client.kv.range("key-1", {});
  assert.ok(Number(header.revision) >= manifest.revision + 1_000_000_000, `revision ${header.revision}`);
  const lease = await client.lease.timeToLive(LEASE, { keys: true });
  assert.deepEqual(
    [lease.grantedTtl, lease.keys.map((key) => Buffer.from(key).toString())],
    [TTL, ["leased"]],
    "the key is still on its lease",
  );
  assert.equal((await client.auth.status()).enabled, true);
  await using alice = await Somebody.byCertificate(restored, "alice");
  assert.ok(await alice.client.kv.get("key-1"));
  await assert.rejects(alice.client.kv.get("leased"), { kind: "permission-denied" });
}

/** The bytes in the store are a snapshot as `etcdctl snapshot save` writes it. */
async function restoresPlainly(version: string, store: Store, manifest: Manifest): Promise<void> {
  const dir = mkdtempSync(path.join(os.tmpdir(), "quorate-plain-"));
  try {
    const file = path.join(dir, "plain.db");
    const dataDir = path.join(dir, "data");
    writeFileSync(file, await read(store, manifest.object));
    const { etcdutl: binary } = await etcdOf(version);
    assert.ok(binary);
    const tool = { binary, version, env: process.env };
    const peerUrl = "http://127.0.0.1:2380";
    const member = { name: "one", peerUrls: [peerUrl], initialCluster: [`one=${peerUrl}`], token: "plain" };
    await snapshotRestore(tool, { ...member, snapshot: file, dataDir });
    const { revision, totalKeys } = await snapshotStatus(tool, path.join(dataDir, "member", "snap", "db"));
    assert.equal(Number(revision), manifest.revision);
    assert.ok(totalKeys >= 100);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

async function contentOf({ kv }: EtcdClient): Promise<Map<string, string>> {
  const all = await kv.range("\0", { rangeEnd: "\0" });
  return new Map(
    all.kvs.map(({ key, value }) => [Buffer.from(key).toString(), Buffer.from(value).toString()]),
  );
}
