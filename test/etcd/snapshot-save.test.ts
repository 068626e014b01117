/** Snapshots of real etcd: the same content as etcdctl's, the same figures as etcdutl's, and a restore that works. */
import assert from "node:assert/strict";
import { readdirSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { test } from "node:test";
import { runCommand } from "../../src/etcd/install/command.ts";
import * as etcdutl from "../../src/etcd/etcdutl.ts";
import { ops } from "../../src/etcd/kv.ts";
import type { Manifest } from "../../src/snapshot/manifest.ts";
import type { SnapshotFacts } from "../../src/snapshot/inspect.ts";
import { eventually } from "../../testbed/eventually.ts";
import { etcdOf, TestCluster, type TestMember } from "../support/etcd-cluster.ts";
import { newestVersions } from "../support/etcd-versions.ts";
import { snapshot, snapshotJson } from "../support/snapshot-verbs.ts";
import { passwordOf } from "../support/passwords.ts";

for (const version of newestVersions) {
  test(`etcd ${version}: revision, keys and size are what etcdutl prints, in every state of the data`, async (t) => {
    await using cluster = await TestCluster.start({ version, members: 1 });
    const member = cluster.members[0] as TestMember;
    const client = cluster.client();
    await cluster.settled(member);
    const { etcdctl, etcdutl: binary } = await etcdOf(version);
    const tool = { binary: binary as string, version, env: process.env };
    let number = 0;

    /**
     * Both tools take a snapshot. etcd commits a transaction for each, so pages may lie elsewhere; what they hold is
     * the same, as etcdutl's hash over all buckets says, once the cluster is quiet.
     */
    const same = async (state: string) => {
      await t.test(state, async () => {
        let manifest: Manifest & { uri: string } = undefined as never;
        let status: etcdutl.SnapshotStatus = undefined as never;
        let theirs = "";
        await eventually("two snapshots without a change between them", async () => {
          number++;
          theirs = path.join(cluster.dir, `etcdctl-${number}.db`);
          const ours = path.join(cluster.dir, `ours-${number}.db`);
          const args = [`--endpoints=${member.clientUrl}`, "snapshot", "save", theirs];
          const { code, stderr } = await runCommand(etcdctl, args, { env: { PATH: process.env["PATH"] } });
          assert.equal(code, 0, stderr);
          manifest = await snapshotJson(["save", "--endpoints", member.clientUrl, ours]);
          status = await etcdutl.snapshotStatus(tool, ours);
          return status.hash === (await etcdutl.snapshotStatus(tool, theirs)).hash;
        });
        assert.equal(manifest.revision, Number(status.revision));
        assert.equal(
          version.startsWith("3.5") ? manifest.totalEntries : manifest.totalKeys,
          status.totalKeys,
        );
        assert.equal(manifest.size, status.totalSize + 32);
        assert.equal(manifest.storageVersion, status.version);
        const { database } = await snapshotJson<SnapshotFacts>(["status", theirs]);
        assert.deepEqual(
          [database.revision, database.totalKeys, database.totalEntries],
          [manifest.revision, manifest.totalKeys, manifest.totalEntries],
        );
      });
    };

    await same("empty");
    for (let i = 0; i < 900; i += 90)
      await client.kv.txn({
        success: Array.from({ length: 90 }, (_, j) => ops.put(`key/${i + j}`, `${i + j}`.repeat(100))),
      });
    for (let i = 0; i < 200; i++) await client.kv.put(`key/${i % 7}`, `again ${i}`);
    await same("with many revisions");
    for (let i = 0; i < 4; i++) await client.kv.put(`large/${i}`, "x".repeat(1_200_000 + i));
    await same("with values that overflow their pages");
    for (let i = 0; i < 900; i += 3) await client.kv.delete(`key/${i}`);
    await client.kv.delete("large/1");
    await same("after deletions");
    const { header } = await client.kv.range("key/", { prefix: true, countOnly: true });
    await client.kv.compact(header.revision, { physical: true });
    await same("after compaction, with free pages");
    await client.maintenance.defragment(member.endpoint);
    await same("after defragmentation");
    await client.kv.delete("\0", { rangeEnd: "\0" });
    const { header: last } = await client.kv.range("x", { countOnly: true });
    await client.kv.compact(last.revision, { physical: true });
    await same("after everything was deleted and compacted");
  });

  test(`etcd ${version}: with TLS and authentication, what was saved can be restored`, async (t) => {
    await using cluster = await TestCluster.start({ version, members: 3, tls: true });
    const client = cluster.client();
    const { pki } = cluster;
    assert.ok(pki);
    for (let i = 0; i < 50; i++) await client.kv.put(`key/${i}`, "x".repeat(10_000));
    const lease = await client.lease.grant(3600);
    await client.kv.put("leased", "x", { lease: lease.id });
    await client.auth.userAdd("root", passwordOf("root"));
    await client.auth.roleAdd("root").catch(() => undefined);
    await client.auth.userGrantRole("root", "root");
    await client.auth.enable();
    const file = (name: string, text: string) => {
      const target = path.join(cluster.dir, name);
      writeFileSync(target, text, { mode: 0o600 });
      return target;
    };
    const stranger = await pki.client("stranger");
    const files = [
      `--cacert=${file("c-ca.crt", stranger.ca)}`,
      `--cert=${file("c.crt", stranger.cert ?? "")}`,
      `--key=${file("c.key", stranger.key ?? "")}`,
    ];
    const endpoints = ["--endpoints", cluster.endpoints.map(({ url }) => url).join(",")];
    const folder = path.join(cluster.dir, "backups");
    const key = file("key", "0f".repeat(32));
    const user = { ETCDCTL_USER: "root", ETCDCTL_PASSWORD: passwordOf("root") };

    await t.test("without a user it is refused, and says so", async () => {
      await assert.rejects(
        snapshot(["save", ...endpoints, ...files, `${folder}/`]),
        /user name is empty|permission denied|user/i,
      );
    });

    await t.test("a follower sends it; it is compressed and encrypted, and plain when fetched", async () => {
      const args = ["save", ...endpoints, ...files, "--compress", "--encrypt", "--encryption-key-file", key];
      const before = await cluster.leader();
      const manifest = await snapshotJson<Manifest & { uri: string }>(
        [...args, "--hash-kv", `${folder}/`],
        user,
      );
      const after = await cluster.leader();
      // An election in between leaves open who led when the members were asked.
      if (before === after) assert.notEqual(manifest.member.endpoint, after.clientUrl);
      else t.diagnostic("the leader changed meanwhile, so it is not known whether a follower sent it");
      assert.ok(manifest.stored.size < manifest.size / 2);
      assert.equal(manifest.totalKeys, 51);
      const plain = path.join(cluster.dir, "plain.db");
      await snapshot(["get", manifest.uri, plain, "--encryption-key-file", key]);
      const { etcdutl: binary } = await etcdOf(version);
      const status = await etcdutl.snapshotStatus(
        { binary: binary as string, version, env: process.env },
        plain,
      );
      assert.equal(Number(status.revision), manifest.revision);
      await assert.rejects(
        snapshot(["get", manifest.uri, plain, "--encryption-key-file", key]),
        /not overwritten/,
      );
      await assert.rejects(snapshot(["verify", manifest.uri]), new RegExp(manifest.encryption?.keyId ?? "?"));
    });

    await t.test("a restore into a scratch etcd has the same revision, keys and hash", async () => {
      const [object] = readdirSync(folder).filter((name) => name.endsWith(".enc"));
      const { restored } = await snapshotJson<{
        restored: { totalKeys: number; hashCompared: boolean; restoreMs: number; etcdVersion: string };
      }>(["verify", "--restore", path.join(folder, object ?? ""), "--encryption-key-file", key]);
      assert.deepEqual(
        [restored.totalKeys, restored.hashCompared, restored.etcdVersion],
        [51, true, version],
      );
      assert.ok(restored.restoreMs > 0);
    });

    await t.test("without quorum the survivor still sends one", async () => {
      const [survivor, ...others] = cluster.members as [TestMember, ...TestMember[]];
      for (const other of others) await other.running.kill();
      const out = path.join(cluster.dir, "survivor.db");
      const args = ["save", ...endpoints, `--cacert=${path.join(cluster.dir, "c-ca.crt")}`];
      const root = [
        `--cert=${file("r.crt", pki.credentials.cert ?? "")}`,
        `--key=${file("r.key", pki.credentials.key ?? "")}`,
      ];
      const manifest = await snapshotJson<Manifest>([...args, ...root, out]);
      assert.equal(manifest.member.endpoint, survivor.clientUrl);
      assert.equal(statSync(out).size, manifest.size);
    });
  });
}
