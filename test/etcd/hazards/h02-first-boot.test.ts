/**
 * H2: `initial-cluster-state: new` is safe only while nobody has lost a directory. etcd protects itself only
 * where a peer answers; otherwise it starts over, under the same IDs, and what was acknowledged is gone.
 *
 * Reported was that the old member then hangs for ever. On 3.5.35, 3.6.16 and 3.7.3 it may also come back
 * and serve what it has, so that two members give different answers to the same read.
 */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { describe, test } from "node:test";
import { formatId } from "../../../src/etcd/id.ts";
import { eventually } from "../../../testbed/eventually.ts";
import { TestCluster, type TestMember } from "../../support/etcd-cluster.ts";
import { inOrder, LocalCluster } from "../../support/local-cluster.ts";
import { sampledVersions } from "../../support/sample.ts";

describe("H2 first boot", { concurrency: 2 }, () => {
  for (const version of sampledVersions) {
    test(`fault, etcd ${version}: one of two founders is wiped, and it and the late third start an empty, writable cluster with the same IDs`, async () => {
      await using cluster = await TestCluster.prepare({ version, members: 3 });
      for (let i = 0; i < 3; i++) await cluster.prepareMember();
      const [first, second, third] = cluster.members as [TestMember, TestMember, TestMember];
      await Promise.all([first, second].map((member) => cluster.launch(member, { state: "new" })));
      await Promise.all([first, second].map((member) => cluster.serving(member)));
      await eventually("a write is acknowledged", async () => {
        await cluster.client([first.endpoint]).kv.put("acknowledged", "by two of three");
        return true;
      });
      const before = await cluster.client().maintenance.status(second.endpoint);

      await first.running.stop();
      await second.running.kill();
      cluster.wipe(second);
      await Promise.all([second, third].map((member) => cluster.launch(member, { state: "new" })));
      await Promise.all([second, third].map((member) => cluster.serving(member)));

      const client = cluster.client([second.endpoint, third.endpoint]);
      const after = await client.maintenance.status(second.endpoint);
      assert.deepEqual(
        [after.header.clusterId, after.header.memberId],
        [before.header.clusterId, before.header.memberId],
      );
      await eventually("the impostor takes a write", async () => {
        await client.kv.put("written", "to the impostor");
        return true;
      });
      assert.equal(await client.kv.get("acknowledged"), undefined);
    });
  }

  test("benign, etcd 3.6.16: a wiped founder is refused while a peer answers", async () => {
    await using cluster = await TestCluster.start({ version: "3.6.16", members: 3 });
    const third = cluster.members[2] as TestMember;
    await third.running.kill();
    cluster.wipe(third);
    await cluster.launch(third, { state: "new" });
    assert.equal((await third.running.exited).reason, "already-bootstrapped");
  });

  test("rule: a volume lost before the cluster was seen ends the attempt; the next one has another token, other names and other volumes, and the old ones are kept", async () => {
    await using local = await LocalCluster.create({ version: "3.6.16", replicas: 3 });
    await local.passUntilStep("UpdateMember/permit-start", 3);
    // On record before anything runs: who may start on which volume.
    assert.ok((await local.records()).every(({ volumeUID }) => volumeUID !== undefined));
    assert.deepEqual(local.children, []);
    await local.pass();
    const first = await writeTo(local);

    // The machine goes down before the controller has looked again, and comes back without one of the volumes.
    for (const name of ["demo-2", "demo-3"]) await local.controller.platform.workloads.kill(name, "SIGKILL");
    await local.loseVolume("demo-1");
    await local.passUntilStep("MarkCluster/new-life");
    local.run();
    const view = await local.settled();

    assert.deepEqual(
      view.members.map(({ name }) => name),
      ["demo-4", "demo-5", "demo-6"],
    );
    assert.ok(view.members.every(({ record }) => record.token.endsWith("-2")));
    assert.notEqual(view.observation.etcd.list?.clusterID, first);
    assert.equal(await (await local.client()).kv.get("a"), undefined);
    for (const name of ["demo-2", "demo-3"]) assert.ok(existsSync(local.files.volume(name).wal), name);
  });

  test("rule: a volume lost before the latch of a cluster that is seen to exist: latched first, then that member is removed and another joins", async () => {
    await using local = await LocalCluster.create({ version: "3.6.16", replicas: 3 });
    await local.passUntilStep("UpdateMember/permit-start", 3);
    await local.pass();
    const first = await writeTo(local);
    await local.loseVolume("demo-3");
    const from = local.steps.length;
    local.run();
    await local.until("replaced", ({ members }) =>
      members.some(({ name, isVoter, healthy }) => name === "demo-4" && isVoter && healthy),
    );
    const view = await local.settled();
    assert.ok(
      inOrder(
        local.tried(from),
        "MarkCluster/establish",
        "UpdateMember/leave demo-3",
        "RemoveFromEtcd demo-3",
        "AddLearner demo-4",
        "Promote demo-4",
      ),
      local.story(),
    );
    assert.equal(view.observation.etcd.list?.clusterID, first);
    assert.notEqual(await (await local.client()).kv.get("a"), undefined);
  });

  test("rule: once seen to exist, a single founder that lost its data is not started over, and status says so", async () => {
    await using local = await LocalCluster.start({ version: "3.6.16", replicas: 1 });
    await writeTo(local);
    assert.equal(local.config("demo-1")["initial-cluster-state"], "existing");
    const started = local.children.length;
    await local.wipe("demo-1");
    await local.until("told", (_view, { decision }) =>
      decision.holds.some(({ reason }) => reason === "DataGone"),
    );
    assert.equal(local.children.length, started);
    assert.deepEqual(await local.names(), ["demo-1"]);
  });
});

/** Writes a key as soon as it can be written; answers with the ID of the cluster that took it. */
async function writeTo(local: LocalCluster): Promise<string> {
  const client = await local.client();
  let clusterID = "";
  await eventually("a write is acknowledged", async () => {
    clusterID = formatId((await client.kv.put("a", "1")).header.clusterId);
    return true;
  });
  return clusterID;
}
