/**
 * H11: the IDs of a first cluster follow from its token and its members' peer URLs, and from nothing else. The
 * same of both gives the same IDs, so members of an earlier life are taken for its own.
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { decide } from "../../../src/core/decide.ts";
import { isEstablished } from "../../../src/core/record.ts";
import { eventually } from "../../../testbed/eventually.ts";
import { TestCluster, type TestMember } from "../../support/etcd-cluster.ts";
import { LocalCluster } from "../../support/local-cluster.ts";
import { sampledVersions } from "../../support/sample.ts";

describe("H11 token", { concurrency: 2 }, () => {
  for (const version of sampledVersions) {
    test(`fault, etcd ${version}: a cluster made anew with the same token and URLs has the same IDs; with another token all are others`, async () => {
      await using cluster = await TestCluster.prepare({ version, members: 3 });
      for (let i = 0; i < 3; i++) await cluster.prepareMember();
      const first = await found(cluster, "uid-1");
      const same = await found(cluster, "uid-1");
      const other = await found(cluster, "uid-2");
      assert.deepEqual(same, first);
      for (const [index, id] of other.entries()) assert.notEqual(id, first[index]);
    });
  }

  test("fault, etcd 3.6.16: a member of the earlier life takes part in the new one of the same token, and with another token is refused", async () => {
    await using cluster = await TestCluster.prepare({ version: "3.6.16", members: 3 });
    for (let i = 0; i < 3; i++) await cluster.prepareMember();
    const [survivor, ...others] = cluster.members as [TestMember, ...TestMember[]];
    for (const [token, isTaken] of [
      ["same", true],
      ["another", false],
    ] as const) {
      await start(cluster, cluster.members, "same");
      await stop(cluster.members);
      for (const member of others) cluster.wipe(member);
      await start(cluster, others, token);
      // The one that was forgotten comes back with the data of its own life.
      await cluster.launch(survivor, { among: [survivor] });
      const client = cluster.client([survivor.endpoint]);
      const follows = async () => (await client.maintenance.status(survivor.endpoint)).leader !== 0n;
      const refused = async () =>
        (await survivor.running.tail(200)).some((line) => line.includes("cluster ID mismatch"));
      await eventually(isTaken ? "taken for its own" : "refused", isTaken ? follows : refused);
      await stop(cluster.members);
      for (const member of cluster.members) cluster.wipe(member);
    }
  });

  test("rule: each life has its own token, and the latch of one counts for no other", async () => {
    await using local = await LocalCluster.start({ version: "3.6.16", replicas: 1 });
    const { cluster } = local.view().observation;
    const { uid, marks } = cluster;
    assert.deepEqual(
      (await local.records()).map(({ token }) => token),
      [`${uid}-1`],
    );
    assert.equal(marks.established?.token, `${uid}-1`);
    assert.equal(isEstablished(uid, marks), true);
    // A later life, and another cluster that was given a copy of these marks.
    assert.equal(isEstablished(uid, { ...marks, life: 2 }), false);
    assert.equal(isEstablished("another-uid", marks), false);
    const copied = { ...local.view().observation, cluster: { ...cluster, uid: "another-uid" }, members: [] };
    const { act } = decide({ ...copied, etcd: { alarms: [], defragmentedAt: {} } });
    assert.ok(act?.action.kind === "CreateMember");
    assert.deepEqual([act.action.record.boot, act.action.record.token], ["New", "another-uid-1"]);
  });

  test("rule: two clusters of one name, one after the other, share no ID; a replaced member shares no name", async () => {
    const ids: string[][] = [];
    for (let life = 0; life < 2; life++) {
      await using local = await LocalCluster.start({ version: "3.6.16", replicas: 1 });
      const { list } = local.view().observation.etcd;
      assert.deepEqual(
        list?.members.map(({ name }) => name),
        ["demo-1"],
      );
      ids.push([list?.clusterID ?? "", ...(list?.members.map(({ id }) => id) ?? [])]);
      if (life === 0) continue;
      await local.store.markDeleting("demo-1");
      local.controller.loop.wake();
      await local.until(
        "replaced",
        ({ members }, { decision }) => decision.converged && members.every(({ name }) => name === "demo-2"),
      );
      assert.equal((await local.store.cluster())?.marks.highestOrdinal, 1);
    }
    assert.ok(ids[0]?.every((id) => id !== "" && !ids[1]?.includes(id)));
  });
});

async function start(cluster: TestCluster, members: readonly TestMember[], token: string): Promise<void> {
  for (const member of members) {
    await cluster.launch(member, { state: "new", args: [`--initial-cluster-token=${token}`] });
  }
  await Promise.all(members.map((member) => cluster.serving(member)));
}

async function stop(members: readonly TestMember[]): Promise<void> {
  await Promise.all(members.map((member) => member.running.kill()));
}

/** The cluster's ID and its members', of a cluster that is made, asked and wiped. */
async function found(cluster: TestCluster, token: string): Promise<bigint[]> {
  await start(cluster, cluster.members, token);
  const { header, members } = await cluster.client().cluster.memberList();
  await stop(cluster.members);
  for (const member of cluster.members) cluster.wipe(member);
  return [header.clusterId, ...members.map(({ id }) => id).toSorted((a, b) => (a < b ? -1 : 1))];
}
