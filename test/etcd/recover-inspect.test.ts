/** Data directories of real etcd, read by `quorate recover inspect`: what etcd itself said before it was killed. */
import assert from "node:assert/strict";
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { verb } from "../../src/cli/verbs/recover.ts";
import { collectingIo } from "../../src/cli/testing.ts";
import type { DirectoryFacts } from "../../src/recovery/directory.ts";
import { eventually } from "../../testbed/eventually.ts";
import { TestCluster, type TestMember } from "../support/etcd-cluster.ts";
import { newestVersions } from "../support/etcd-versions.ts";

type Inspected = DirectoryFacts & { readonly directory: string };

async function inspect(...directories: string[]): Promise<{ code: number; facts: Inspected[] }> {
  const io = collectingIo();
  const code = await verb.run(["inspect", ...directories, "-o", "json"], io);
  return { code, facts: JSON.parse(io.out()) as Inspected[] };
}

async function dataOf(directory: string): Promise<Extract<DirectoryFacts, { state: "data" }>> {
  const { facts } = await inspect(directory);
  const [found] = facts;
  assert.equal(found?.state, "data", JSON.stringify(found));
  return found;
}

for (const version of ["3.4.23", ...newestVersions]) {
  test(`etcd ${version}: the directory of a killed member tells its IDs, term, index and revision`, async () => {
    // Several raft snapshots, so that the log continues from one.
    await using cluster = await TestCluster.start({ version, members: 1, args: ["--snapshot-count=40"] });
    const member = cluster.members[0] as TestMember;
    const client = cluster.client();
    if (!version.startsWith("3.4.")) await cluster.settled(member);
    for (let i = 0; i < 150; i++) await client.kv.put(`key/${i}`, "x".repeat(1500));
    const status = await client.maintenance.status(member.endpoint);
    await member.running.kill();

    const { log, database } = await dataOf(member.dataDir);
    assert.equal(log.memberID, status.header.memberId.toString(16));
    assert.equal(log.clusterID, status.header.clusterId.toString(16));
    assert.equal(log.state.term, Number(status.raftTerm));
    assert.equal(log.last.term, Number(status.raftTerm));
    assert.equal(log.last.index, Number(status.raftIndex));
    assert.ok(log.snapshot.index > 0, "it continues from a raft snapshot");
    assert.equal(log.torn, false);
    assert.ok(database.consistentIndex <= log.last.index && database.consistentIndex >= log.snapshot.index);
    const revision = Number(status.header.revision);
    assert.ok(database.revision <= revision, `${database.revision} of ${revision}`);
    assert.ok(database.revision + log.last.index - database.consistentIndex >= revision);
    assert.deepEqual(
      database.members.map(({ id, name, isLearner }) => [id, name, isLearner]),
      [[log.memberID, member.name, false]],
    );
    if (version !== newestVersions.at(-1)) return;

    // A write that the machine lost power in: etcd cuts it off, and starts with one put less.
    const wal = path.join(member.dataDir, "member", "wal");
    const segment = path.join(
      wal,
      readdirSync(wal)
        .filter((name) => name.endsWith(".wal"))
        .at(-1) ?? "",
    );
    const bytes = readFileSync(segment);
    const end = bytes.findLastIndex((byte) => byte !== 0);
    const whole = path.join(cluster.dir, "whole");
    cpSync(member.dataDir, whole, { recursive: true });
    bytes.fill(0, end - 1000);
    writeFileSync(segment, bytes);
    const torn = await dataOf(member.dataDir);
    assert.equal(torn.log.torn, true);
    assert.equal(torn.log.last.index, log.last.index - 1);
    const both = collectingIo();
    assert.equal(await verb.run(["inspect", member.dataDir, whole], both), 0);
    assert.match(both.out(), /the last record is torn; etcd cuts it off/);
    assert.match(both.out(), /\/whole has the newest log\./);

    await cluster.launch(member);
    await cluster.serving(member);
    await eventually("the log is applied", async () => {
      const { kvs } = await client.kv.range("key/149");
      const { kvs: before } = await client.kv.range("key/148");
      return kvs.length === 0 && before.length === 1;
    });
    await member.running.kill();

    // A flipped byte in the middle is damage, and an emptied directory is empty.
    bytes.writeUInt8((bytes[end >> 1] ?? 0) ^ 1, end >> 1);
    writeFileSync(segment, bytes);
    const damaged = await inspect(member.dataDir);
    assert.equal(damaged.code, 1);
    assert.equal(damaged.facts[0]?.state, "damaged");
    rmSync(path.join(member.dataDir, "member"), { recursive: true });
    assert.equal((await inspect(member.dataDir)).facts[0]?.state, "empty");
  });
}
