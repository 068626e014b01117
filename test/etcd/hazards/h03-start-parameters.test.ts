/**
 * H3: start parameters outlive their truth. What was right at the first start makes a member that lost its
 * data start over, or come back as a voter that has forgotten what it acknowledged. etcd's own panic
 * ("tocommit is out of range") is no guard: it ends with the leader's memory.
 */
import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { describe, test } from "node:test";
import { EtcdProcess } from "../../../src/etcd/process.ts";
import { eventually } from "../../../testbed/eventually.ts";
import { etcdOf, TestCluster, world, type TestMember } from "../../support/etcd-cluster.ts";
import { LocalCluster } from "../../support/local-cluster.ts";
import { sampledVersions } from "../../support/sample.ts";

const AT_ONCE = "--strict-reconfig-check=false";

describe("H3 start parameters", { concurrency: 2 }, () => {
  for (const version of sampledVersions) {
    test(`fault, etcd ${version}: a single member, wiped and started as before, is empty and has the same IDs`, async () => {
      await using cluster = await TestCluster.start({ version, members: 1 });
      const [member] = cluster.members as [TestMember];
      const before = await cluster.client().kv.put("acknowledged", "1");
      await member.running.kill();
      cluster.wipe(member);
      await cluster.launch(member, { state: "new" });
      await cluster.serving(member);
      const after = await cluster.client().kv.range("acknowledged");
      assert.equal(after.kvs.length, 0);
      assert.equal(after.header.clusterId, before.header.clusterId);
      assert.equal(after.header.memberId, before.header.memberId);
    });

    test(`fault, etcd ${version}: a promoted voter, wiped and started as it joined, panics while the leader remembers it and votes without memory when the leader has restarted; with itself only it ends at once`, async () => {
      await using cluster = await TestCluster.start({ version, members: 2, args: [AT_ONCE] });
      const founders = [...cluster.members];
      const client = cluster.client(founders.map(({ endpoint }) => endpoint));
      const joiner = await cluster.prepareMember();
      const { member } = await client.cluster.memberAdd([joiner.peerUrl], { learner: true });
      await cluster.launch(joiner);
      await cluster.serving(joiner);
      await eventually("promoted", async () => {
        await client.cluster.memberPromote(member.id);
        return true;
      });
      for (let i = 0; i < 20; i++) await client.kv.put("acknowledged", String(i));
      await eventually("the joiner has it", async () => {
        const { kvs } = await cluster
          .client([joiner.endpoint])
          .kv.range("acknowledged", { serializable: true });
        return Buffer.from(kvs[0]?.value ?? []).toString() === "19";
      });

      await joiner.running.kill();
      cluster.wipe(joiner);
      await cluster.launch(joiner);
      assert.equal((await joiner.running.exited).reason, "data-lost");

      cluster.wipe(joiner);
      await cluster.launch(joiner, { among: [joiner] });
      assert.equal((await joiner.running.exited).reason, "cluster-unreachable");

      cluster.wipe(joiner);
      const { url } = await client.maintenance.leader();
      const leader = founders.find(({ clientUrl }) => clientUrl === url) as TestMember;
      await leader.running.stop();
      await cluster.restart(leader);
      await cluster.launch(joiner);
      await cluster.serving(joiner);
      const status = await client.maintenance.status(joiner.endpoint);
      assert.deepEqual([status.header.memberId, status.isLearner], [member.id, false]);
    });
  }

  test("rule: joined members start with themselves only; one whose directory is found empty is not started and is replaced; without the guard it would end at once", async () => {
    await using local = await LocalCluster.start({ version: "3.6.16", replicas: 3 });
    await (await local.client()).kv.put("acknowledged", "1");
    for (const name of await local.names()) {
      const { peerURL } = local.member(name).record.address;
      const config = local.config(name);
      assert.equal(config["initial-cluster"], `${name}=${peerURL}`);
      assert.equal(config["initial-cluster-state"], "existing");
    }

    // By hand, so that no look is missed: a quick machine has replaced it before anybody asks.
    await local.halt();
    await local.wipe("demo-2");
    await eventually("seen", async () =>
      (await local.pass()).observation.members.some(
        ({ record, workload }) =>
          record.name === "demo-2" && workload.state === "exited" && workload.cause === "data-missing",
      ),
    );
    assert.deepEqual(local.startsOf("demo-2"), 1);
    local.run();
    await local.until("replaced", ({ members }) =>
      members.some(({ name, isVoter, healthy }) => name === "demo-4" && isVoter && healthy),
    );
    const { peerURL } = local.member("demo-4").record.address;
    assert.equal(local.config("demo-4")["initial-cluster"], `demo-4=${peerURL}`);
    const endpoint = local.controller.platform.endpoint(local.member("demo-4").record);
    const read = await (await local.client()).kv.get("acknowledged", { endpoint });
    assert.notEqual(read, undefined);

    // The same file by hand, without our guard.
    await local.halt();
    await local.controller.platform.workloads.kill("demo-4", "SIGKILL");
    rmSync(local.files.volume("demo-4").data, { recursive: true });
    const { etcd } = await etcdOf("3.6.16");
    const process = await EtcdProcess.start(world, {
      binary: etcd,
      args: [`--config-file=${local.files.configOf("demo-4")}`],
      env: {},
      cwd: local.files.dir,
      log: local.files.logOf("by-hand"),
    });
    assert.equal((await process.exited).reason, "cluster-unreachable");
  });

  test("rule: a founder that lost its data between the latch of the cluster and its own does not come back without memory", async () => {
    await using local = await LocalCluster.create({ version: "3.6.16", replicas: 3 });
    await local.passUntilStep("MarkCluster/establish");
    assert.ok((await local.records()).every(({ joined }) => !joined));
    await (await local.client()).kv.put("acknowledged", "1");
    // The controller dies here, a directory is emptied, and the leader forgets how far its followers were.
    await local.crash();
    for (const child of local.children) child.signal("SIGKILL");
    await Promise.all(local.children.map(({ exit }) => exit));
    rmSync(local.files.volume("demo-3").data, { recursive: true });
    await local.open();
    local.run();
    await local.until("replaced", ({ members }) =>
      members.some(({ name, isVoter, healthy }) => name === "demo-4" && isVoter && healthy),
    );
    assert.equal(local.startsOf("demo-3"), 1);
    assert.notEqual(await (await local.client()).kv.get("acknowledged"), undefined);
  });
});
