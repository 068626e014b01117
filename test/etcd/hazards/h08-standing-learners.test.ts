/**
 * H8: standing learners take the place in which newcomers join: etcd 3.5 has only one, and later versions have
 * one by default. And a learner refuses to be hashed and to be defragmented, which was known from the source
 * only: it is so on all three versions.
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isEtcdError } from "../../../src/etcd/errors.ts";
import { TestCluster } from "../../support/etcd-cluster.ts";
import { inOrder, LocalCluster } from "../../support/local-cluster.ts";
import { sampledVersions } from "../../support/sample.ts";

describe("H8 standing learners", { concurrency: 2 }, () => {
  for (const version of sampledVersions) {
    test(`fault, etcd ${version}: a second learner is refused with the default limit, and a learner refuses to be hashed and defragmented`, async () => {
      await using cluster = await TestCluster.start({
        version,
        members: 1,
        args: ["--strict-reconfig-check=false"],
      });
      const client = cluster.client(cluster.endpoints);
      const learner = await cluster.prepareMember();
      await client.cluster.memberAdd([learner.peerUrl], { learner: true });
      const second = await cluster.prepareMember();
      await assert.rejects(client.cluster.memberAdd([second.peerUrl], { learner: true }), (error) =>
        isEtcdError(error, "too-many-learners"),
      );
      await cluster.launch(learner, { among: cluster.members.slice(0, 2) });
      await cluster.serving(learner);
      await assert.rejects(client.maintenance.hashKv(learner.endpoint, 0n), (error) =>
        isEtcdError(error, "rpc-not-supported-for-learner"),
      );
      await assert.rejects(client.maintenance.defragment(learner.endpoint), (error) =>
        isEtcdError(error, "rpc-not-supported-for-learner"),
      );
    });
  }

  test("rule: on 3.5 a standing learner gives way while a voter is replaced, and comes back; hashes cover the voters", async () => {
    await using local = await LocalCluster.start({ version: "3.5.35", replicas: 3, learners: 1 });
    const [standing] = local.view().members.filter(({ entry }) => entry?.isLearner);
    assert.ok(standing);
    const { byMember } = local.view().observation.etcd.hashes ?? { byMember: {} };
    assert.deepEqual(Object.keys(byMember).toSorted(), ["demo-1", "demo-2", "demo-3"]);

    await local.wipe("demo-2");
    const view = await local.until(
      "three voters and a learner again",
      ({ members, voters }, { decision }) =>
        decision.converged &&
        voters === 3 &&
        !members.some(({ name }) => name === "demo-2") &&
        members.some(({ entry, healthy }) => entry?.isLearner === true && healthy),
    );
    assert.ok(
      inOrder(
        local.tried(),
        "RemoveFromEtcd demo-2",
        `RemoveFromEtcd ${standing.name}`,
        "AddLearner demo-5",
        "Promote demo-5",
        "AddLearner demo-6",
      ),
      local.story(),
    );
    assert.equal(view.members.length, 4);
  });
});
