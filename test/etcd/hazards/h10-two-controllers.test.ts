/**
 * H10: a lease check is no fence; a pause fits between the check and the call. So every membership change is
 * first an intent in a record, written under the version that was read, and every call may come twice.
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Conflict } from "../../../src/control/platform.ts";
import { isEtcdError } from "../../../src/etcd/errors.ts";
import { eventually } from "../../../testbed/eventually.ts";
import { TestCluster } from "../../support/etcd-cluster.ts";
import { LocalCluster } from "../../support/local-cluster.ts";
import { sampledVersions } from "../../support/sample.ts";

describe("H10 two controllers", { concurrency: 2 }, () => {
  for (const version of sampledVersions) {
    test(`fault, etcd ${version}: the same peer URL added twice, or a member removed twice, is answered with an error though it is done`, async () => {
      await using cluster = await TestCluster.start({
        version,
        members: 1,
        args: ["--strict-reconfig-check=false"],
      });
      const client = cluster.client(cluster.endpoints);
      const { peerUrl } = await cluster.prepareMember();
      const { member } = await client.cluster.memberAdd([peerUrl], { learner: true });
      await assert.rejects(client.cluster.memberAdd([peerUrl], { learner: true }), (error) =>
        isEtcdError(error, "member-exists", "peer-url-exists"),
      );
      assert.equal((await client.cluster.memberList()).members.length, 2);
      await client.cluster.memberRemove(member.id);
      await assert.rejects(client.cluster.memberRemove(member.id), (error) =>
        isEtcdError(error, "member-not-found"),
      );
    });
  }

  test("rule: of two controllers that decide the same on the same observation one goes through; the other meets a conflict and changes nothing", async () => {
    await using local = await LocalCluster.start({ version: "3.6.16", replicas: 3 });
    await local.halt();
    await local.edit({ replicas: 1 });
    const slow = await decided(local);
    assert.equal(slow.act.action.kind, "UpdateMember");
    // The other one is quicker, and goes on to its end.
    local.run();
    await local.until("one member is gone", ({ members }) => members.length < 3);
    await local.halt();
    const before = await local.records();
    await assert.rejects(slow.carryOut(), Conflict);
    assert.deepEqual(await local.records(), before);
  });

  test("rule: a call that comes a second time is done already, and nobody is added twice", async () => {
    await using local = await LocalCluster.start({ version: "3.6.16", replicas: 1 });
    await local.halt();
    await local.edit({ replicas: 2 });
    await local.passUntilStep("CreateMember");
    const [add, again] = [await decided(local), await decided(local)];
    assert.equal(add.act.action.kind, "AddLearner");
    await add.carryOut();
    await again.carryOut();
    assert.equal((await (await local.client()).cluster.memberList()).members.length, 2);
    local.run();
    assert.equal((await local.settled()).voters, 2);
  });

  test("rule: an add of a paused controller that comes after its member has left again is a ghost, and is removed", async () => {
    await using local = await LocalCluster.start({ version: "3.6.16", replicas: 1 });
    await local.halt();
    await local.edit({ replicas: 2 });
    await local.passUntilStep("CreateMember");
    const paused = await decided(local);
    local.run();
    await local.settled();
    await local.edit({ replicas: 1 });
    await local.until(
      "back at one",
      ({ members }, { decision }) => decision.converged && members.length === 1,
    );
    await paused.carryOut();
    await local.until("the ghost is gone", (view) => view.unrecorded.length === 0 && ghosts(local) > 0);
    assert.equal((await (await local.client()).cluster.memberList()).members.length, 1);
  });

  test("rule: a controller whose lock was taken over stands still", async () => {
    await using local = await LocalCluster.start({ version: "3.6.16", replicas: 1 });
    await local.halt();
    await local.takeLock();
    await local.edit({ replicas: 3 });
    const { decision } = await local.pass();
    assert.equal(decision.act, undefined);
    assert.deepEqual(
      decision.holds.map(({ reason }) => reason),
      ["Fenced"],
    );
  });
});

/** A member that answers late is silent for one look, and then there may be nothing to do. */
async function decided(local: LocalCluster) {
  return await eventually("decided", () => local.decideNow());
}

function ghosts(local: LocalCluster): number {
  return local.steps.filter(({ rule, step }) => rule === "unrecorded-members" && step === "RemoveFromEtcd")
    .length;
}
