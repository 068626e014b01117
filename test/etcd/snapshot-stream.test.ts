/** A snapshot of some tens of megabytes, streamed, verified, read by etcdutl and started from again. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { createWriteStream, readFileSync, statSync, truncateSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { test } from "node:test";
import * as etcdutl from "../../src/etcd/etcdutl.ts";
import { ops } from "../../src/etcd/kv.ts";
import { etcdOf, TestCluster, type TestMember } from "../support/etcd-cluster.ts";
import { newestVersions } from "../support/etcd-versions.ts";

const KEYS = 300;
const VALUE = 100_000;

for (const version of newestVersions) {
  test(`etcd ${version}: a snapshot of 30 MB is whole, and a cluster starts from it (R23, R24)`, async (t) => {
    await using cluster = await TestCluster.start({ version, members: 1, tls: true });
    const member = cluster.members[0] as TestMember;
    const client = cluster.client();
    for (let i = 0; i < KEYS; i += 10)
      await client.kv.txn({
        success: Array.from({ length: 10 }, (_, j) => ops.put(`key/${i + j}`, `${i + j}`.padEnd(VALUE, "x"))),
      });
    await cluster.settled(member);
    const { header } = await client.kv.range("key/", { prefix: true, countOnly: true });
    const file = path.join(cluster.dir, "snapshot.db");
    const tool = { binary: (await etcdOf(version)).etcdutl as string, version, env: process.env };

    await t.test("it streams to a file with a hash that anyone can check", async () => {
      const snapshot = client.maintenance.snapshot(member.endpoint);
      await pipeline(Readable.from(snapshot), createWriteStream(file));
      const { size, sha256 } = snapshot.result ?? { size: 0, sha256: "" };
      assert.ok(size > KEYS * VALUE);
      assert.deepEqual([statSync(file).size, snapshot.expectedSize], [size, size]);
      assert.equal(createHash("sha256").update(readFileSync(file).subarray(0, -32)).digest("hex"), sha256);
      assert.equal(
        snapshot.result?.version?.slice(0, 3),
        version.startsWith("3.5") ? undefined : version.slice(0, 3),
      );
    });

    await t.test("etcdutl finds the keys in it", async () => {
      const status = await etcdutl.snapshotStatus(tool, file);
      assert.equal(status.revision, header.revision);
      assert.ok(status.totalKeys >= KEYS);
      assert.equal(status.version?.slice(0, 3), version.startsWith("3.5") ? undefined : version.slice(0, 3));
    });

    await t.test("a reader that stops half-way leaves the connection usable and nothing open", async () => {
      let taken = 0;
      for await (const part of client.maintenance.snapshot(member.endpoint)) {
        taken += part.length;
        if (taken > 1_000_000) break;
      }
      await client.kv.put("after", "x");
    });

    await t.test("a reader's abort ends it", async () => {
      const stop = new AbortController();
      const reading = (async () => {
        for await (const _ of client.maintenance.snapshot(member.endpoint, { signal: stop.signal }))
          stop.abort();
      })();
      await assert.rejects(reading, { kind: "cancelled" });
    });

    await t.test(
      "a member restored from it has the keys, a higher revision, and its past compacted",
      async () => {
        await using restored = await TestCluster.prepare({ version, members: 1 });
        const one = await restored.prepareMember();
        const options = {
          snapshot: file,
          dataDir: one.dataDir,
          name: one.name,
          peerUrls: [one.peerUrl],
          initialCluster: [`${one.name}=${one.peerUrl}`],
          token: "restored",
          bumpRevision: 1_000_000n,
        };
        await etcdutl.snapshotRestore(tool, options);
        await assert.rejects(etcdutl.snapshotRestore(tool, options), { reason: "exists" });
        await restored.restart(one);
        const reader = restored.client();
        const found = await reader.kv.range("key/", { prefix: true, countOnly: true });
        assert.equal(found.count, KEYS);
        assert.ok(found.header.revision >= header.revision + 1_000_000n);
        await assert.rejects(reader.kv.get("key/1", { revision: header.revision }), { kind: "compacted" });
        await one.running.stop();
        await offline(tool, one, version);
      },
    );

    await t.test("a damaged file is refused by its hash", async () => {
      truncateSync(file, statSync(file).size - 512 * 3);
      const into = {
        dataDir: path.join(cluster.dir, "damaged"),
        name: "x",
        peerUrls: ["http://127.0.0.1:1"],
      };
      const restore = etcdutl.snapshotRestore(tool, {
        ...into,
        snapshot: file,
        initialCluster: ["x=http://127.0.0.1:1"],
        token: "t",
      });
      await assert.rejects(restore, { reason: "hash-mismatch" });
      await assert.rejects(etcdutl.snapshotStatus(tool, path.join(cluster.dir, "none")), {
        reason: "not-found",
      });
    });
  });
}

/** What can be done to the data of a stopped member. */
async function offline(tool: etcdutl.Etcdutl, member: TestMember, version: string): Promise<void> {
  await etcdutl.defragment(tool, member.dataDir);
  if (version.startsWith("3.5")) {
    assert.equal(await etcdutl.hasV2Content(tool, member.dataDir), false);
    await assert.rejects(etcdutl.hashKv(tool, "x"), { reason: "not-supported" });
    return;
  }
  const { hash, hashRevision } = await etcdutl.hashKv(
    tool,
    path.join(member.dataDir, "member", "snap", "db"),
  );
  assert.ok(hash > 0 && hashRevision > 1_000_000n);
  await assert.rejects(etcdutl.hasV2Content(tool, member.dataDir), { reason: "not-supported" });
  const [, minor = 0] = version.split(".").map(Number);
  await etcdutl.migrate(tool, member.dataDir, `3.${minor - 1}`);
}
