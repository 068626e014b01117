/**
 * H13: a downgrade is told to etcd before any binary changes. An older binary that comes first does not start;
 * told first, the storage is brought down in about two seconds, and the downgrade ends by itself with the last
 * member. A mixed cluster can still be told to go back.
 *
 * More than was reported: in a cluster of 3.6 and 3.5 the cancellation must go to a member of 3.6. One of 3.5
 * does not answer it at all.
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { minorOf } from "../../../src/core/version/version.ts";
import { isEtcdError } from "../../../src/etcd/errors.ts";
import type { MemberStatus } from "../../../src/etcd/types.ts";
import { eventually } from "../../../testbed/eventually.ts";
import { TestCluster, type TestMember } from "../../support/etcd-cluster.ts";
import { inOrder, LocalCluster } from "../../support/local-cluster.ts";

describe("H13 downgrade", { concurrency: 2 }, () => {
  for (const [from, to, reason] of [
    ["3.7.3", "3.6.16", "data-newer-version"],
    ["3.6.16", "3.5.35", "cluster-newer-version"],
  ] as const) {
    test(`fault, etcd ${from} to ${to}: the older binary first does not start; told first, the storage follows, a mixed cluster can be told to go back, and a whole one ends the downgrade by itself`, async () => {
      await using cluster = await TestCluster.start({ version: from, members: 3 });
      const client = cluster.client();
      await client.kv.put("a", "1");
      await storageOf(cluster, from);
      const [canary] = (await cluster.followers()) as [TestMember];

      await canary.running.stop();
      canary.version = to;
      await cluster.launch(canary, { among: [canary] });
      assert.equal((await canary.running.exited).reason, reason);
      canary.version = from;
      await cluster.restart(canary);

      await enable(cluster, to);
      await run(cluster, canary, to);
      const answers = await statuses(cluster);
      for (const [index, { version, storageVersion, downgrade }] of answers.entries()) {
        const tells = minorOf(version) !== "3.5";
        assert.equal(storageVersion, tells ? `${minorOf(to)}.0` : undefined, `member ${index + 1}`);
        assert.equal(downgrade?.enabled, tells ? true : undefined, `member ${index + 1}`);
      }

      if (minorOf(to) === "3.5") {
        const deaf = cluster.client([canary.endpoint], 1_000).maintenance.downgrade("CANCEL", "");
        // The server lets go of a call at the same deadline as we do, and either may be first.
        await assert.rejects(deaf, (error) => isEtcdError(error, "deadline", "unavailable"));
      }
      const higher = cluster.members.filter((member) => member !== canary);
      await cluster.client(higher.map(({ endpoint }) => endpoint)).maintenance.downgrade("CANCEL", "");
      await run(cluster, canary, from);
      await storageOf(cluster, from);

      await enable(cluster, to);
      const leader = await cluster.leader();
      for (const member of [...cluster.members.filter((one) => one !== leader), leader]) {
        await run(cluster, member, to);
      }
      await eventually("it ends by itself", async () =>
        (await statuses(cluster)).every(({ downgrade }) => downgrade?.enabled !== true),
      );
      const hashes = await Promise.all(
        cluster.members.map(async ({ endpoint }) => (await client.maintenance.hashKv(endpoint, 0n)).hash),
      );
      assert.equal(new Set(hashes).size, 1);
      assert.notEqual(await client.kv.get("a"), undefined);
    });
  }

  test("rule: from 3.7 to 3.6 etcd is told first, then members follow, the leader last", async () => {
    await using local = await LocalCluster.start({ version: "3.7.3", replicas: 3 });
    await (await local.client()).kv.put("a", "1");
    await local.edit({ version: "3.6.16" });
    const view = await local.settled();
    const done = local.done();
    assert.ok(inOrder(done, "EnableDowngrade", /^UpdateMember\/roll/), local.story());
    assert.ok(view.members.every(({ answer }) => answer.reachable && answer.version === "3.6.16"));
    assert.equal(view.observation.etcd.clusterVersion, "3.6");
    // Nobody was started with a binary that could not take its data.
    for (const name of await local.names()) assert.equal(local.startsOf(name), 2);
    assert.notEqual(await (await local.client()).kv.get("a"), undefined);
  });

  test("rule: taken back half way from 3.6 to 3.5, etcd is told so by a member that can hear it, and all are on 3.6 again", async () => {
    await using local = await LocalCluster.start({ version: "3.6.16", replicas: 3 });
    await (await local.client()).kv.put("a", "1");
    await local.edit({ version: "3.5.35" });
    await local.until("one member runs 3.5", ({ members }) =>
      members.some(({ answer, healthy }) => healthy && answer.reachable && answer.version === "3.5.35"),
    );
    const from = local.steps.length;
    await local.edit({ version: "3.6.16" });
    const view = await local.settled();
    const cancels = local.steps.slice(from).filter(({ step }) => step === "CancelDowngrade");
    assert.deepEqual(
      cancels.map(({ error }) => error),
      [undefined],
    );
    assert.ok(inOrder(local.done(from), "CancelDowngrade", /^UpdateMember\/(roll|revert)/), local.story());
    assert.ok(view.members.every(({ answer }) => answer.reachable && answer.version === "3.6.16"));
    assert.ok(view.members.every(({ answer }) => answer.reachable && answer.downgrade?.enabled !== true));
    assert.notEqual(await (await local.client()).kv.get("a"), undefined);
  });

  test("rule: more than one minor, or a version without the way back, is refused and nothing changes", async () => {
    await using local = await LocalCluster.start({ version: "3.7.3", replicas: 1 });
    const from = local.steps.length;
    await local.edit({ version: "3.5.35" });
    await local.until("refused", (_view, { decision }) =>
      decision.holds.some(({ reason, next }) => reason === "VersionRefused" && next?.includes("3.6.16")),
    );
    assert.deepEqual(local.tried(from), []);
  });
});

async function statuses(cluster: TestCluster): Promise<MemberStatus[]> {
  const client = cluster.client();
  return await Promise.all(cluster.members.map(({ endpoint }) => client.maintenance.status(endpoint)));
}

/** Waits until the whole cluster speaks a minor and keeps its storage in it. */
async function storageOf(cluster: TestCluster, version: string): Promise<void> {
  const wanted = `${minorOf(version)}.0`;
  await eventually(`storage of ${wanted}`, async () => {
    const stored = (await statuses(cluster)).every(({ storageVersion }) => storageVersion === wanted);
    const spoken = await Promise.all(
      cluster.members.map(async ({ clientUrl }) => {
        const answer = (await (await fetch(`${clientUrl}/version`)).json()) as { etcdcluster: string };
        return answer.etcdcluster;
      }),
    );
    return stored && spoken.every((one) => one === wanted);
  });
}

async function enable(cluster: TestCluster, to: string): Promise<void> {
  await cluster.client().maintenance.downgrade("ENABLE", `${minorOf(to)}.0`);
  await storageOf(cluster, to);
}

async function run(cluster: TestCluster, member: TestMember, version: string): Promise<void> {
  await member.running.stop();
  member.version = version;
  await cluster.restart(member);
}
