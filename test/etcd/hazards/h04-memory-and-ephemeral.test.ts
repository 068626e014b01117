/**
 * H4: with data in memory, or on a disk that goes with the Pod, a restart is a loss of data. Here a member's
 * directory is emptied whenever its process ends, which is what such a medium does.
 */
import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { describe, test } from "node:test";
import type { EtcdClusterSpec } from "../../../src/api/etcd-cluster-spec.ts";
import { InvalidInput } from "../../../src/local/change.ts";
import { TestCluster, type TestMember } from "../../support/etcd-cluster.ts";
import { inOrder, LocalCluster } from "../../support/local-cluster.ts";

/** The local platform has no such medium and refuses it; its rules are those of all platforms. */
const IN_MEMORY = {
  unchecked: (spec: EtcdClusterSpec): EtcdClusterSpec => ({
    ...spec,
    storage: { ...spec.storage, medium: "Memory" },
  }),
  onExit: (dataDir: string) => rmSync(dataDir, { recursive: true, force: true }),
};

describe("H4 memory and ephemeral", { concurrency: 2 }, () => {
  test("fault, etcd 3.6.16: the members of a rolling restart come back empty, and not at all", async () => {
    await using cluster = await TestCluster.start({ version: "3.6.16", members: 3 });
    await cluster.client().kv.put("a", "1");
    const [first, second] = await cluster.followers();
    assert.ok(first && second);
    // As it must be started (H3) it does not start; the next restart would already cost the quorum.
    await restartInMemory(cluster, first);
    assert.notEqual((await first.running.exited).reason, "stopped");
    await restartInMemory(cluster, second);
    await second.running.exited;
    await assert.rejects(cluster.client(cluster.endpoints, 2_000).kv.put("b", "2"));
  });

  for (const { replicas, change, what } of [
    { replicas: 1, change: { options: { snapshotCount: 5000 } }, what: "an option" },
    { replicas: 1, change: { version: "3.7.3" }, what: "the version" },
  ]) {
    test(`rule: ${what} of a cluster of ${replicas} in memory changes by a surge swap, and the data is kept`, async () => {
      await using local = await LocalCluster.start({ version: "3.6.16", replicas }, IN_MEMORY);
      await (await local.client()).kv.put("a", "1");
      const from = local.steps.length;
      await local.edit(change);
      const view = await local.settled();
      assert.ok(
        inOrder(
          local.tried(from),
          "UpdateMember/retire demo-1",
          "AddLearner demo-2",
          "Promote demo-2",
          "RemoveFromEtcd demo-1",
          "StopWorkload demo-1",
          "DeleteMember demo-1",
        ),
        local.story(),
      );
      assert.deepEqual(
        view.members.map(({ name, record }) => [name, record.template.version]),
        [["demo-2", change.version ?? "3.6.16"]],
      );
      assert.equal(local.startsOf("demo-1"), 1);
      assert.equal(local.startsOf("demo-2"), 1);
      assert.notEqual(await (await local.client()).kv.get("a"), undefined);
    });
  }

  test("rule: a member in memory whose process died is replaced, never restarted empty", async () => {
    await using local = await LocalCluster.start({ version: "3.6.16", replicas: 3 }, IN_MEMORY);
    await (await local.client()).kv.put("a", "1");
    await local.controller.platform.workloads.kill("demo-1", "SIGKILL");
    await local.until("replaced", ({ members }) =>
      members.some(({ name, isVoter, healthy }) => name === "demo-4" && isVoter && healthy),
    );
    assert.equal(local.startsOf("demo-1"), 1);
    assert.notEqual(await (await local.client()).kv.get("a"), undefined);
  });

  test("rule: hibernation of what would be lost is refused, and one machine has no such medium", async () => {
    for (const [spec, message] of [
      [{ version: "3.6.16", replicas: 0, storage: { medium: "Memory" } }, /would lose all data/],
      [{ version: "3.6.16", storage: { medium: "Memory" } }, /spec\.storage\.medium/],
      [{ version: "3.6.16", storage: { medium: "Ephemeral" } }, /spec\.storage\.medium/],
    ] as const) {
      await assert.rejects(
        LocalCluster.create(spec),
        (error: Error) => error instanceof InvalidInput && message.test(error.message),
      );
    }
  });
});

async function restartInMemory(cluster: TestCluster, member: TestMember): Promise<void> {
  await member.running.stop();
  cluster.wipe(member);
  await cluster.launch(member, { among: [member] });
}
