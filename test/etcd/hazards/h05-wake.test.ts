/**
 * H5: a cluster that sleeps is woken as it fell asleep. Data of 3.5 started directly on 3.7 ends every
 * member, and a spec edited while the cluster sleeps asks for just that.
 *
 * More than was reported: it is the log that 3.7 cannot read, not the database. A member that went through
 * 3.6 ends the same way while no raft snapshot covers what 3.5 wrote, and 3.6 makes one only every
 * `snapshot-count` entries.
 */
import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { eventually } from "../../../testbed/eventually.ts";
import { TestCluster, type TestMember } from "../../support/etcd-cluster.ts";
import { inOrder, LocalCluster } from "../../support/local-cluster.ts";

describe("H5 wake", { concurrency: 2 }, () => {
  test("fault: data of 3.5.35 started on 3.7.3 ends every member; 3.5.35 still takes it", async () => {
    await using cluster = await TestCluster.start({ version: "3.5.35", members: 3 });
    await cluster.client().kv.put("a", "1");
    await Promise.all(cluster.members.map((member) => member.running.stop()));
    for (const member of cluster.members) {
      member.version = "3.7.3";
      await cluster.launch(member, { among: [member] });
    }
    for (const member of cluster.members) {
      assert.equal((await member.running.exited).reason, "data-older-version");
      member.version = "3.5.35";
      await cluster.launch(member, { among: [member] });
    }
    await Promise.all(cluster.members.map((member) => cluster.serving(member)));
    assert.notEqual(await cluster.client().kv.get("a"), undefined);
  });

  test("fault: 3.6.16 in between is not enough; a raft snapshot made there is", async () => {
    await using cluster = await TestCluster.start({ version: "3.5.35", members: 1 });
    const [member] = cluster.members as [TestMember];
    for (const [version, args] of [
      ["3.6.16", []],
      ["3.7.3", []],
      ["3.6.16", ["--snapshot-count=1"]],
      ["3.7.3", []],
    ] as const) {
      await member.running.stop();
      member.version = version;
      await cluster.launch(member, { among: [member], args });
      if (version === "3.7.3" && !hasSnapshot(member)) {
        assert.equal((await member.running.exited).reason, "data-older-version");
        continue;
      }
      await cluster.serving(member);
      for (let i = 0; i < 3; i++) await cluster.client().kv.put("a", String(i));
      await eventually("the cluster speaks it", () => speaks(member, version));
    }
    assert.equal(member.version, "3.7.3");
    assert.equal(member.running.exit, undefined);
  });

  test("rule: woken with an edited version, members start as they fell asleep, then roll one minor at a time", async () => {
    await using local = await LocalCluster.start({ version: "3.5.35", replicas: 1 });
    await (await local.client()).kv.put("a", "1");
    const [asleepID] = local.view().observation.etcd.list?.members.map(({ id }) => id) ?? [];
    await local.edit({ replicas: 0 });
    await local.settled();
    const from = local.steps.length;
    await local.edit({ replicas: 1, version: "3.7.3" });
    const view = await local.settled();

    const versions = local.steps
      .slice(from)
      .filter(({ step }) => step === "UpdateMember/roll")
      .map(({ reason }) => reason);
    assert.deepEqual(versions, ["demo-1: version 3.5.35 → 3.6.16", "demo-1: version 3.6.16 → 3.7.3"]);
    assert.ok(inOrder(local.done(from), "UpdateMember/wake demo-1", "UpdateMember/roll demo-1"));
    // One start before it slept, one as it woke, one for each minor: none ended by itself.
    assert.equal(local.startsOf("demo-1"), 4);
    assert.deepEqual(
      view.observation.etcd.list?.members.map(({ id }) => id),
      [asleepID],
    );
    assert.notEqual(await (await local.client()).kv.get("a"), undefined);
  });

  test("rule: hibernation keeps every copy, and a smaller size takes its turn after all are awake", async () => {
    await using local = await LocalCluster.start({
      version: "3.6.16",
      replicas: 3,
      storage: { retention: { onScaleIn: "Delete" } },
    });
    await (await local.client()).kv.put("a", "1");
    await local.edit({ replicas: 0 });
    const asleep = await local.settled();
    assert.ok(asleep.members.every(({ workload }) => workload.state === "absent"));
    for (const { name } of asleep.members) assert.ok(existsSync(local.files.volume(name).wal), name);

    const from = local.steps.length;
    await local.edit({ replicas: 1 });
    const view = await local.settled();
    const done = local.done(from);
    const woken = ["demo-1", "demo-2", "demo-3"].map((name) => done.indexOf(`UpdateMember/wake ${name}`));
    const left = done.findIndex((step) => step.startsWith("UpdateMember/leave"));
    assert.ok(
      woken.every((at) => at >= 0 && at < left),
      local.story(),
    );
    assert.equal(view.voters, 1);
    assert.notEqual(await (await local.client()).kv.get("a"), undefined);
  });
});

function hasSnapshot({ dataDir }: TestMember): boolean {
  return readdirSync(path.join(dataDir, "member", "snap")).some((file) => file.endsWith(".snap"));
}

async function speaks({ clientUrl }: TestMember, version: string): Promise<boolean> {
  const answer = (await (await fetch(`${clientUrl}/version`)).json()) as { etcdcluster: string };
  return version.startsWith(answer.etcdcluster.replace(/\d+$/, ""));
}
