/**
 * First boot from a snapshot, on real etcd: everything that was in it is there, on a cluster of its own; a watcher sees
 * a compaction; what cannot be restored is said and starts nothing; and no restart restores twice.
 */
import assert from "node:assert/strict";
import { copyFileSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import type { RestoreRecipe } from "../../src/api/bootstrap.ts";
import type { EtcdClient } from "../../src/etcd/client.ts";
import type { WaitCode } from "../../src/core/action.ts";
import type { Manifest } from "../../src/snapshot/manifest.ts";
import { newestVersions } from "../support/etcd-versions.ts";
import { LocalCluster } from "../support/local-cluster.ts";
import { sampled } from "../support/sample.ts";
import { snapshotJson } from "../support/snapshot-verbs.ts";

const BUMP = 1_000_000_000;
const VERSION = "3.6.16";

interface Saved {
  readonly file: string;
  readonly manifest: Manifest;
  readonly keys: ReadonlyMap<string, string>;
  readonly lease: bigint;
}

const dir = mkdtempSync(path.join(os.tmpdir(), "quorate-restore-"));
after(() => rmSync(dir, { recursive: true, force: true }));

async function contentOf({ kv }: EtcdClient): Promise<Map<string, string>> {
  const all = await kv.range("\0", { rangeEnd: "\0" });
  return new Map(
    all.kvs.map(({ key, value }) => [Buffer.from(key).toString(), Buffer.from(value).toString()]),
  );
}

async function save(version: string): Promise<Saved> {
  await using source = await LocalCluster.start({ replicas: 1, version });
  const client = await source.client();
  const { id: lease } = await client.lease.grant(3_600);
  for (let i = 0; i < 300; i++) await client.kv.put(`key-${i % 100}`, `value ${i} ${"x".repeat(500)}`);
  await client.kv.put("leased", "yes", { lease });
  await client.kv.delete("key-7");
  const file = path.join(dir, `${version}.db`);
  const [record] = await source.records();
  assert.ok(record);
  const endpoint = source.controller.platform.endpoint(record).url;
  const manifest = await snapshotJson<Manifest>(["save", "--endpoints", endpoint, file]);
  return { file, manifest, keys: await contentOf(client), lease };
}

let saved: Saved;
before(async () => {
  saved = await save(VERSION);
});

const restoreOf = (path: string, more: Partial<RestoreRecipe> = {}) => ({
  bootstrap: { restore: { source: { file: { path } }, ...more } },
});

function holdsOf(local: LocalCluster): (WaitCode | undefined)[] {
  return local.controller.loop.latest?.decision.holds.map(({ code }) => code) ?? [];
}

const others = newestVersions.filter((one) => one !== VERSION && !one.startsWith("3.4"));

for (const version of sampled([...others, VERSION])) {
  test(`etcd ${version}: three members with TLS start from a snapshot with all keys, leases and a raised revision`, async () => {
    const from = version === VERSION ? saved : await save(version);
    const restore = restoreOf(from.file, { checksum: from.manifest.sha256 });
    await using local = await LocalCluster.start({
      replicas: 3,
      version,
      tls: { mode: "Managed" },
      ...restore,
    });
    const client = await local.client();
    assert.deepEqual(await contentOf(client), from.keys);
    const { header, kvs } = await client.kv.range("leased", {});
    assert.ok(Number(header.revision) >= from.manifest.revision + BUMP, `revision ${header.revision}`);
    assert.equal(kvs[0]?.lease, from.lease);
    assert.ok((await client.lease.timeToLive(from.lease)).ttl > 0);

    // Who watched the old cluster, from any revision it may have seen, is told to read again.
    for (const revision of [from.manifest.revision + 1, from.manifest.revision + 50_000]) {
      await assert.rejects(async () => {
        const options = { startRevision: BigInt(revision), signal: AbortSignal.timeout(10_000) };
        for await (const _ of client.watches.watch("key-1", options));
      }, /compacted/);
    }

    const records = await local.records();
    assert.deepEqual(
      records.map(({ boot }) => boot),
      ["New", "Join", "Join"],
    );
    assert.ok(records[0]?.restore);

    // A restart in place begins nothing over: what was written since is there.
    await client.kv.put("since", "kept");
    const founder = records[0]?.name ?? "";
    await local.controller.platform.workloads.kill(founder, "SIGKILL");
    await local.until(
      "it serves again",
      ({ healthyVoters }) => healthyVoters === 3 && local.startsOf(founder) === 2,
    );
    assert.equal((await contentOf(client)).get("since"), "kept");

    // Read once: another recipe has no effect afterwards, and that is said.
    await local.edit(restoreOf("/nowhere/else.db"));
    await local.until("the edit is answered", () => holdsOf(local).includes("RestoreTooLate"));
    assert.equal((await contentOf(client)).get("since"), "kept");
  });
}

test("a cluster that starts from the same snapshot again is above all that the one before wrote: its watchers read again", async () => {
  let before = 0;
  for (let life = 1; life <= 2; life++) {
    await using local = await LocalCluster.start({
      replicas: 1,
      version: VERSION,
      ...restoreOf(saved.file),
    });
    const client = await local.client();
    const { header } = await client.kv.put("life", String(life));
    assert.ok(Number(header.revision) > before, `${before}, then ${header.revision}`);
    if (before > 0)
      await assert.rejects(async () => {
        const options = { startRevision: BigInt(before + 1), signal: AbortSignal.timeout(10_000) };
        for await (const _ of client.watches.watch("life", options));
      }, /compacted/);
    for (let i = 0; i < 50; i++) before = Number((await client.kv.put("life", `${i}`)).header.revision);
  }
});

test("what cannot be restored is said with its field and starts nothing, and an edit puts it right", async () => {
  const missing = path.join(dir, "missing.db");
  const damaged = path.join(dir, "damaged.db");
  writeFileSync(damaged, "this is not a snapshot");
  await using local = await LocalCluster.create({ replicas: 1, version: VERSION, ...restoreOf(missing) });
  local.run();
  const told = async (field: RegExp, why: RegExp) => {
    await local.until(String(why), (_, { decision }) =>
      decision.holds.some(
        ({ code, message }) => code === "RestoreFailed" && field.test(message) && why.test(message),
      ),
    );
    assert.equal(local.children.length, 0, "etcd was started");
  };
  await told(/restore\.source\.file\.path/, /there is no snapshot .*missing\.db/);
  await local.edit(restoreOf(damaged));
  await told(/restore\.source/, /damaged/);
  await local.edit(restoreOf(saved.file, { checksum: "0".repeat(64) }));
  await told(/restore\.checksum/, /SHA-256/);
  await local.edit({ version: "3.5.35", ...restoreOf(saved.file) });
  await told(/spec\.version/, /etcd 3\.6 wrote the snapshot/);
  await local.edit({ version: VERSION, ...restoreOf(saved.file, { revisionBump: "None" }) });
  await local.settled();
  const client = await local.client();
  assert.deepEqual(await contentOf(client), saved.keys);
  const { header } = await client.kv.range("leased", {});
  assert.ok(Number(header.revision) < saved.manifest.revision + 10);
});

test("a controller that ends during a restore leaves nothing half done, and the next one finishes it", async () => {
  await using local = await LocalCluster.create({ replicas: 1, version: VERSION, ...restoreOf(saved.file) });
  await local.passUntilStep("UpdateMember/permit-start");
  await local.pass();
  await local.crash();
  assert.equal(local.children.length, 0);
  await local.open();
  local.run();
  await local.settled();
  assert.deepEqual(await contentOf(await local.client()), saved.keys);
  assert.equal(local.startsOf("demo-1"), 1);
});

test("a snapshot that was cut off is not restored", async () => {
  const cut = path.join(dir, "cut.db");
  copyFileSync(saved.file, cut);
  truncateSync(cut, saved.manifest.size - 1_000);
  await using local = await LocalCluster.create({ replicas: 1, version: VERSION, ...restoreOf(cut) });
  local.run();
  await local.until("it is said", () => holdsOf(local).includes("RestoreFailed"));
  assert.equal(local.children.length, 0);
});
