/**
 * H7: a joiner's list of members must be the cluster's, at the moment it starts. One that misses a member
 * which was added meanwhile ends, and ends again however often it is started. From 3.6 on a joiner begins with a
 * snapshot, and where the log is long it needs one more entry before it serves.
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { eventually } from "../../../testbed/eventually.ts";
import { TestCluster } from "../../support/etcd-cluster.ts";
import { inOrder, LocalCluster } from "../../support/local-cluster.ts";
import { sampled } from "../../support/sample.ts";

/** More than the 5000 entries that a member may be behind before it takes itself for overloaded. */
async function writeMuch(write: (value: string) => Promise<unknown>): Promise<void> {
  let left = 5_500;
  const writer = async () => {
    while (left-- > 0) await write(String(left));
  };
  await Promise.all(Array.from({ length: 32 }, writer));
}

describe("H7 joining lists", { concurrency: 2 }, () => {
  for (const version of sampled(["3.6.16", "3.7.3"])) {
    test(`fault, etcd ${version}: a joiner whose list misses a member ends at every start; with the whole list it joins and votes, though the other never started`, async () => {
      await using cluster = await TestCluster.start({
        version,
        members: 1,
        args: ["--strict-reconfig-check=false", "--max-learners=2"],
      });
      const client = cluster.client(cluster.endpoints);
      const joiner = await cluster.prepareMember();
      const stale = [...cluster.members];
      const { member } = await client.cluster.memberAdd([joiner.peerUrl], { learner: true });
      const other = await cluster.prepareMember();
      await client.cluster.memberAdd([other.peerUrl], { learner: true });
      for (let start = 0; start < 2; start++) {
        await cluster.launch(joiner, { among: stale });
        assert.equal((await joiner.running.exited).reason, "member-count-unequal");
      }
      await cluster.launch(joiner);
      await cluster.serving(joiner);
      await eventually("promoted", async () => {
        await client.cluster.memberPromote(member.id);
        return true;
      });
    });
  }

  for (const version of sampled(["3.6.16", "3.7.3"]))
    test(`fault, etcd ${version}: a joiner of a quiet cluster with a long log serves nobody until anything is written`, async (t) => {
      await using cluster = await TestCluster.start({ version, members: 1 });
      const client = cluster.client(cluster.endpoints);
      await writeMuch((value) => client.kv.put("k", value));
      // Now and then its word reaches the leader before the snapshot reaches it: then it is lucky.
      for (let lucky = 0; ; lucky++) {
        assert.ok(lucky < 40, "it never happened");
        const joiner = await cluster.prepareMember();
        const { member } = await client.cluster.memberAdd([joiner.peerUrl], { learner: true });
        await cluster.launch(joiner, { among: [...cluster.members.slice(0, 1), joiner] });
        const served = await cluster.serving(joiner, 15_000).then(
          () => true,
          () => false,
        );
        if (!served) {
          await client.maintenance.alarms();
          await cluster.serving(joiner);
          t.diagnostic(`after ${lucky} lucky ones`);
          break;
        }
        await client.cluster.memberRemove(member.id);
        await joiner.running.kill();
      }
    });

  test("rule: a quiet cluster with a long log grows", async () => {
    await using local = await LocalCluster.start({ version: "3.6.16", replicas: 1 });
    const { kv } = await local.client();
    await writeMuch((value) => kv.put("k", value));
    await local.edit({ replicas: 3 });
    assert.equal((await local.settled()).voters, 3);
  });

  test("rule: a list that went stale before its joiner started is made anew", async () => {
    await using local = await LocalCluster.start({ version: "3.6.16", replicas: 1 });
    await local.halt();
    await local.edit({ replicas: 2 });
    await local.passUntilStep("UpdateMember/permit-start");
    // Somebody else's learner, added between the permit and the start.
    const foreign = "http://127.0.0.1:9";
    await (await local.client()).cluster.memberAdd([foreign], { learner: true });
    local.run();
    await local.until("joined", ({ members }) =>
      members.some(({ name, isVoter, healthy }) => name === "demo-2" && isVoter && healthy),
    );
    assert.ok(
      inOrder(local.done(), "UpdateMember/rebuild-list demo-2", "UpdateMember/latch-joined demo-2"),
      local.story(),
    );
    assert.equal(local.startsOf("demo-2"), 1);
    // What is not ours is reported and left alone (I9).
    const view = await local.until("told", (_view, { decision }) =>
      decision.holds.some(({ reason }) => reason === "ForeignMember"),
    );
    assert.ok(view.observation.etcd.list?.members.some(({ peerURLs }) => peerURLs.includes(foreign)));
  });

  test("rule: the next joiner is added when the former serves, so that no list names a member that never started", async () => {
    await using local = await LocalCluster.start({ version: "3.6.16", replicas: 1 });
    await local.edit({ replicas: 3 });
    await local.settled();
    assert.ok(
      inOrder(
        local.done(),
        "AddLearner demo-2",
        "UpdateMember/permit-start demo-2",
        "UpdateMember/latch-joined demo-2",
        "AddLearner demo-3",
        "UpdateMember/permit-start demo-3",
        "UpdateMember/latch-joined demo-3",
      ),
      local.story(),
    );
    assert.deepEqual([local.startsOf("demo-2"), local.startsOf("demo-3")], [1, 1]);
  });
});
