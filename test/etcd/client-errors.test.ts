/**
 * The failures an operator must tell apart, each made for real: members stopped, frozen, unreachable,
 * never started, over quota. Kinds that need no broken cluster are in client.test.ts.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { EtcdClient } from "../../src/etcd/client.ts";
import { isEtcdError, type EtcdError } from "../../src/etcd/errors.ts";
import { eventually } from "../../testbed/eventually.ts";
import { TestCluster, type TestMember } from "../support/etcd-cluster.ts";
import { freePorts } from "../support/free-ports.ts";
import { outerVersions } from "../support/sample.ts";

for (const version of outerVersions) {
  describe(`etcd ${version}, three members`, () => {
    let cluster: TestCluster;
    let client: EtcdClient;
    before(async () => {
      cluster = await TestCluster.start({ version, members: 3 });
      client = cluster.client();
    });
    after(async () => await cluster?.[Symbol.asyncDispose]());

    test("an address where nobody listens is unavailable, and nothing was done", async () => {
      const [port] = await freePorts(1);
      const nobody = { name: "nobody", url: `http://127.0.0.1:${port}` };
      await assert.rejects(cluster.client([nobody]).kv.put("a", "b"), {
        kind: "unavailable",
        outcome: "not-applied",
        endpoint: `nobody (http://127.0.0.1:${port})`,
      });
      // With others in the list even a write goes through: the refused try had no effect.
      await cluster.client([nobody, ...cluster.endpoints]).kv.put("a", "b");
    });

    test("a frozen member costs a deadline; reads go on elsewhere", async () => {
      const frozen = (await cluster.followers())[0] as TestMember;
      const others = cluster.endpoints.filter(({ name }) => name !== frozen.name);
      frozen.running.pause();
      try {
        const alone = cluster.client([frozen.endpoint]);
        const started = performance.now();
        await assert.rejects(alone.kv.put("a", "b", { timeoutMs: 700 }), { kind: "deadline" });
        assert.ok(performance.now() - started < 3_000);
        const all = cluster.client([frozen.endpoint, ...others], 3_000);
        assert.equal((await all.kv.range("a")).count, 1);
        assert.equal((await all.cluster.memberList()).members.length, 3);
        assert.notEqual((await all.maintenance.leader()).name, frozen.name);
      } finally {
        frozen.running.resume();
      }
      await eventually("the member is back", async () => {
        return (await client.maintenance.status(frozen.endpoint, { timeoutMs: 1_000 })).leader !== 0n;
      });
    });

    test("a second learner is too many, and one that never started is not ready (R17, R18)", async () => {
      const [one, two] = await freePorts(2);
      let id = 0n;
      await eventually("the first learner is allowed", async () => {
        id = (await client.cluster.memberAdd([`http://127.0.0.1:${one}`], { learner: true })).member.id;
        return true;
      });
      await assert.rejects(client.cluster.memberAdd([`http://127.0.0.1:${two}`], { learner: true }), {
        kind: "too-many-learners",
      });
      await assert.rejects(client.cluster.memberPromote(id), { kind: "learner-not-ready", retryable: true });
      await client.cluster.memberRemove(id);
    });

    test("over quota writes are refused until space is made and the alarm disarmed (R27)", async () => {
      await using small = await TestCluster.start({
        version,
        members: 1,
        args: ["--quota-backend-bytes=8388608"],
      });
      const writer = small.client();
      const member = small.members[0] as TestMember;
      // etcd knows the size of what was committed, ten times a second: until then a fast disk takes more than the quota.
      await assert.rejects(
        (async () => {
          for (const end = performance.now() + 30_000; performance.now() < end;)
            await writer.kv.put("fill", "x".repeat(1_000_000));
        })(),
        { kind: "no-space", outcome: "unknown" },
      );
      const { header } = await writer.maintenance.status(member.endpoint);
      assert.deepEqual(await writer.maintenance.alarms(), [{ memberId: header.memberId, alarm: "NOSPACE" }]);
      assert.equal((await writer.kv.range("fill")).count, 1, "reads still answer");
      await writer.kv.compact(header.revision, { physical: true });
      await writer.maintenance.defragment(member.endpoint);
      await writer.maintenance.disarm(header.memberId, "NOSPACE");
      await writer.kv.put("fill", "small");
    });

    test("under a CORRUPT alarm writes fail and reads answer (R31)", async () => {
      const { header } = await client.maintenance.status(
        cluster.endpoints[0] as (typeof cluster.endpoints)[0],
      );
      await client.maintenance.raiseAlarm(header.memberId, "CORRUPT");
      await assert.rejects(client.kv.put("a", "b"), { kind: "corrupt" });
      await assert.rejects(client.lease.grant(60), { kind: "corrupt" });
      assert.equal((await client.kv.range("a")).count, 1);
      await client.maintenance.disarm(header.memberId, "CORRUPT");
      await client.kv.put("a", "b");
    });

    test("with one of three down no member can be added; the dead one can be removed (R19)", async () => {
      const dead = (await cluster.followers())[0] as TestMember;
      await dead.running.kill();
      const [port] = await freePorts(1);
      const url = `http://127.0.0.1:${port}`;
      await eventually("its absence is noticed", async () => {
        return await client.cluster.memberAdd([url], { learner: true }).then(
          async ({ member }) => (await client.cluster.memberRemove(member.id), false),
          (error: EtcdError) => error.kind === "unhealthy-cluster" && error.outcome === "not-applied",
        );
      });
      const { members } = await client.cluster.memberList();
      const id = members.find(({ name }) => name === dead.name)?.id ?? 0n;
      assert.equal((await client.cluster.memberRemove(id)).members.length, 2);
      cluster.members.splice(cluster.members.indexOf(dead), 1);
    });

    test("without quorum the truth can still be read, and nothing else (R21)", async () => {
      const [gone, left] = cluster.members as [TestMember, TestMember];
      await gone.running.kill();
      await eventually("the loss is noticed", async () => {
        return (await client.maintenance.status(left.endpoint)).leader === 0n;
      });
      assert.equal((await client.cluster.memberList({ linearizable: false })).members.length, 2);
      assert.equal((await client.kv.range("a", { serializable: true })).count, 1);
      await assert.rejects(client.maintenance.leader(), { kind: "no-leader" });
      await assert.rejects(client.cluster.memberPromote(1n), { kind: "no-leader" });
      const stuck = (error: unknown) =>
        isEtcdError(error, "deadline", "request-timed-out", "no-leader", "unavailable");
      await assert.rejects(client.cluster.memberList({ timeoutMs: 1_000 }), stuck);
      await assert.rejects(client.kv.put("a", "c", { timeoutMs: 1_000 }), (error) => {
        return stuck(error) && (error as EtcdError).outcome === "unknown";
      });
    });
  });

  test(`etcd ${version}: a voter that was added and never started blocks the next addition (R19)`, async () => {
    await using cluster = await TestCluster.start({ version, members: 1 });
    const client = cluster.client();
    const [one, two] = await freePorts(2);
    await client.cluster.memberAdd([`http://127.0.0.1:${one}`]);
    await assert.rejects(client.cluster.memberAdd([`http://127.0.0.1:${two}`], { timeoutMs: 2_000 }), {
      kind: "not-enough-started",
      outcome: "not-applied",
    });
  });
}
