/**
 * H6: whether a voter is dead or healthy decides the order of its replacement. While a voter is down etcd
 * admits nobody, so a dead one is removed first; a healthy one is worth its vote until its successor has one.
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isEtcdError } from "../../../src/etcd/errors.ts";
import { eventually } from "../../../testbed/eventually.ts";
import { TestCluster, type TestMember } from "../../support/etcd-cluster.ts";
import { inOrder, LocalCluster } from "../../support/local-cluster.ts";
import { sampledVersions } from "../../support/sample.ts";

describe("H6 dead or healthy", { concurrency: 3 }, () => {
  for (const version of sampledVersions) {
    test(`fault, etcd ${version}: with one of three down a learner is refused; removed first, it is admitted`, async () => {
      await using cluster = await TestCluster.start({ version, members: 3 });
      const [dead] = await cluster.followers();
      assert.ok(dead);
      const alive = cluster.members.filter((member) => member !== dead);
      const client = cluster.client(alive.map(({ endpoint }) => endpoint));
      const newcomer = await cluster.prepareMember();
      const { members } = await client.cluster.memberList();
      const id = members.find(({ name }) => name === dead.name)?.id as bigint;
      const add = async () =>
        (await client.cluster.memberAdd([newcomer.peerUrl], { learner: true })).member.id;
      // All three have been connected for five seconds: so what is refused next is refused for the dead one.
      let learner = 0n;
      await eventually("admitted while all are well", async () => (learner = await add()) !== 0n);
      await client.cluster.memberRemove(learner);

      await dead.running.kill();
      await eventually("refused once its absence is noticed", async () => {
        const admitted = await add().catch((error: unknown) => {
          if (isEtcdError(error, "unhealthy-cluster")) return undefined;
          throw error;
        });
        if (admitted !== undefined) await client.cluster.memberRemove(admitted);
        return admitted === undefined;
      });
      await client.cluster.memberRemove(id);
      await eventually("admitted by those that are left", async () => (await add()) !== 0n);
    });
  }

  test("fault, etcd 3.6.16: one dead of two is quorum loss: it cannot even be removed", async () => {
    await using cluster = await TestCluster.start({ version: "3.6.16", members: 2 });
    const [first, second] = cluster.members as [TestMember, TestMember];
    const client = cluster.client([first.endpoint], 2_000);
    const { members } = await client.cluster.memberList();
    const id = members.find(({ name }) => name === second.name)?.id as bigint;
    await second.running.kill();
    await assert.rejects(client.cluster.memberRemove(id), (error) => isEtcdError(error));
    await assert.rejects(client.kv.put("a", "1"), (error) => isEtcdError(error));
  });

  test("rule: a voter without its data is removed first, then another joins; a healthy one that has to go is replaced first, then removed", async () => {
    await using local = await LocalCluster.start({ version: "3.6.16", replicas: 3 });
    await local.wipe("demo-1");
    await local.until("replaced", replacedBy("demo-4"));
    await local.settled();
    assert.ok(
      inOrder(local.tried(), "RemoveFromEtcd demo-1", "AddLearner demo-4", "Promote demo-4"),
      local.story(),
    );

    const from = local.steps.length;
    await local.store.markDeleting("demo-2");
    local.controller.loop.wake();
    await local.until("gone", ({ members }) => !members.some(({ name }) => name === "demo-2"));
    assert.ok(
      inOrder(local.tried(from), "AddLearner demo-5", "Promote demo-5", "RemoveFromEtcd demo-2"),
      local.story(),
    );
    assert.equal((await local.settled()).voters, 3);
  });

  test("rule: a broken member of more than are wanted is removed and not replaced", async () => {
    await using local = await LocalCluster.start({ version: "3.6.16", replicas: 3 });
    await local.halt();
    await local.wipe("demo-1");
    await local.edit({ replicas: 2 });
    local.run();
    const view = await local.settled();
    assert.deepEqual(
      view.members.map(({ name }) => name),
      ["demo-2", "demo-3"],
    );
    assert.ok(!local.done().some((step) => step.startsWith("AddLearner")), local.story());
  });

  test("rule: a dead member of two is reported as the loss of quorum, and nothing is tried", async () => {
    await using local = await LocalCluster.start({ version: "3.6.16", replicas: 2 });
    const from = local.steps.length;
    await local.wipe("demo-2");
    await local.until("told", (_view, { decision }) =>
      decision.holds.some(({ reason, message }) => reason === "QuorumLost" && message.includes("demo-2")),
    );
    assert.deepEqual(local.tried(from), []);
    assert.deepEqual(await local.names(), ["demo-1", "demo-2"]);
  });
});

function replacedBy(newcomer: string) {
  return ({ members }: { members: readonly { name: string; isVoter: boolean; healthy: boolean }[] }) =>
    members.some(({ name, isVoter, healthy }) => name === newcomer && isVoter && healthy);
}
