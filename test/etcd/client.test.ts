/**
 * Every call of the client on real etcd of each supported minor. One cluster of three per version; tests
 * that need a broken one are in client-errors.test.ts.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { EtcdClient } from "../../src/etcd/client.ts";
import { text } from "../../src/etcd/convert.ts";
import { isEtcdError } from "../../src/etcd/errors.ts";
import { formatId } from "../../src/etcd/id.ts";
import { ops } from "../../src/etcd/kv.ts";
import { eventually } from "../../testbed/eventually.ts";
import { TestCluster, type TestMember } from "../support/etcd-cluster.ts";
import { newestVersions } from "../support/etcd-versions.ts";

for (const version of newestVersions) {
  describe(`etcd ${version}`, () => {
    let cluster: TestCluster;
    let client: EtcdClient;
    let first: TestMember;
    before(async () => {
      // 3.5 over TLS, the others in plain text: both ways of every connection are walked.
      cluster = await TestCluster.start({ version, members: 3, tls: version.startsWith("3.5") });
      client = cluster.client();
      first = cluster.members[0] as TestMember;
    });
    after(async () => await cluster?.[Symbol.asyncDispose]());

    test("keys are written, read, compared, deleted", async () => {
      const put = await client.kv.put("kv/a", "1");
      await client.kv.put("kv/b", "2");
      assert.equal(text((await client.kv.get("kv/a"))?.value ?? new Uint8Array()), "1");
      assert.equal(await client.kv.get("kv/none"), undefined);
      const range = await client.kv.range("kv/", { prefix: true, limit: 1 });
      assert.deepEqual([range.count, range.more, range.kvs.length], [2, true, 1]);
      const counted = await client.kv.range("kv/", { prefix: true, countOnly: true });
      assert.deepEqual([counted.count, counted.kvs.length], [2, 0]);
      const again = await client.kv.put("kv/a", "3", { previous: true });
      assert.equal(text(again.previous?.value ?? new Uint8Array()), "1");
      const old = await client.kv.get("kv/a", { revision: put.header.revision });
      assert.equal(text(old?.value ?? new Uint8Array()), "1");

      const txn = await client.kv.txn({
        compare: [
          ops.modRevisionIs("kv/a", again.header.revision),
          ops.valueIs("kv/b", "2"),
          ops.absent("kv/c"),
        ],
        success: [ops.put("kv/c", "4"), ops.range("kv/", { prefix: true }), ops.delete("kv/b")],
        failure: [ops.put("kv/c", "wrong")],
      });
      assert.equal(txn.succeeded, true);
      const ranged = txn.responses[1]?.response;
      assert.equal(ranged?.case === "responseRange" && ranged.value.count, 3n);
      assert.equal((await client.kv.delete("kv/", { prefix: true })).deleted, 2);
    });

    test("every member answers a serializable read, and the empty prefix is every key", async () => {
      await client.kv.put("all/a", "1");
      for (const { endpoint } of cluster.members)
        await eventually("the key on every member", async () => {
          return (await client.kv.range("", { prefix: true, serializable: true, endpoint })).count >= 1;
        });
    });

    test("the member list tells names, URLs and roles, also without asking the quorum (R21)", async () => {
      for (const linearizable of [true, false]) {
        const { members, header } = await client.cluster.memberList({ linearizable });
        assert.deepEqual(members.map(({ name }) => name).toSorted(), ["m1", "m2", "m3"]);
        assert.ok(members.every(({ isLearner, clientUrls }) => !isLearner && clientUrls.length === 1));
        assert.notEqual(header.clusterId, 0n);
      }
    });

    test("status is one member's own, and exactly one leads", async () => {
      await cluster.settled(cluster.members[0] as TestMember);
      // A busy machine may elect another one meanwhile: then none of them leads, or two say so.
      const all = await eventually("all follow one", async () => {
        const now = await Promise.all(
          cluster.endpoints.map((endpoint) => client.maintenance.status(endpoint)),
        );
        return new Set(now.map(({ leader, header }) => `${leader} ${header.raftTerm}`)).size === 1 && now;
      });
      assert.equal(all.filter(({ isLeader }) => isLeader).length, 1);
      assert.equal(new Set(all.map(({ header }) => header.memberId)).size, 3);
      assert.ok(all.every((status) => status.version === version && status.raftAppliedIndex > 0n));
      // Fields that came with 3.6 are absent before, not empty.
      const newer = !version.startsWith("3.5");
      assert.deepEqual(
        [all[0]?.storageVersion !== undefined, all[0]?.downgrade !== undefined],
        [newer, newer],
      );
    });

    test("leadership is moved by the leader, wherever the client looks first (R20)", async () => {
      const target = (await cluster.followers())[0] as TestMember;
      const { header } = await client.maintenance.status(target.endpoint);
      await client.maintenance.moveLeader(header.memberId);
      await eventually("the new leader", async () => (await cluster.leader()) === target);
      // The client still remembers the old leader; it is told so and finds the new one.
      const back = (await cluster.followers())[0] as TestMember;
      await client.maintenance.moveLeader((await client.maintenance.status(back.endpoint)).header.memberId);
      await eventually("the newer leader", async () => (await cluster.leader()) === back);
    });

    test("hashes at one revision agree on all members", async () => {
      const { header } = await client.kv.put("hash", "x");
      const hashes = await Promise.all(
        cluster.endpoints.map(async (endpoint) => {
          await eventually("the member has caught up", async () => {
            return (await client.maintenance.status(endpoint)).header.revision >= header.revision;
          });
          return await client.maintenance.hashKv(endpoint, header.revision);
        }),
      );
      assert.equal(new Set(hashes.map(({ hash, compactRevision }) => `${hash} ${compactRevision}`)).size, 1);
      assert.equal(hashes[0]?.hashRevision, version.startsWith("3.5") ? undefined : header.revision);
      assert.equal(typeof (await client.maintenance.hash(first.endpoint)), "number");
    });

    test("compaction and defragmentation give space back", async () => {
      for (let i = 0; i < 20; i++) await client.kv.put("space", "x".repeat(100_000));
      const { header } = await client.kv.put("space", "end");
      // By the member that is looked at: another one has nothing to give back yet when the answer comes.
      await cluster.client([first.endpoint]).kv.compact(header.revision, { physical: true });
      const before = await client.maintenance.status(first.endpoint);
      await client.maintenance.defragment(first.endpoint);
      const then = await client.maintenance.status(first.endpoint);
      assert.ok(then.dbSize < before.dbSize, `${before.dbSize} → ${then.dbSize}`);
      await assert.rejects(client.kv.get("space", { revision: 1n }), { kind: "compacted" });
    });

    test("alarms are raised, listed and disarmed", async () => {
      const { header } = await client.maintenance.status(first.endpoint);
      assert.deepEqual(await client.maintenance.alarms(), []);
      await client.maintenance.raiseAlarm(header.memberId, "NOSPACE");
      assert.deepEqual(await client.maintenance.alarms(), [{ memberId: header.memberId, alarm: "NOSPACE" }]);
      await assert.rejects(client.kv.put("a", "b"), { kind: "no-space" });
      await client.maintenance.disarm(header.memberId, "NOSPACE");
      assert.deepEqual(await client.maintenance.alarms(), []);
      await client.kv.put("a", "b");
    });

    test("a lease keeps its keys while it is kept alive, and drops them when revoked", async () => {
      const { id, ttl } = await client.lease.grant(60);
      assert.equal(ttl, 60);
      await client.kv.put("lease/a", "x", { lease: id });
      assert.equal((await client.kv.get("lease/a"))?.lease, id);
      assert.ok((await client.lease.list()).includes(id));
      assert.equal(await client.lease.keepAliveOnce(id), 60);
      const info = await client.lease.timeToLive(id, { keys: true });
      assert.deepEqual([info.grantedTtl, info.keys.map(text)], [60, ["lease/a"]]);
      const stop = new AbortController();
      for await (const left of client.lease.keepAlive(id, stop.signal)) {
        assert.equal(left, 60);
        stop.abort();
      }
      await client.lease.revoke(id);
      assert.equal(await client.kv.get("lease/a"), undefined);
      assert.equal((await client.lease.timeToLive(id)).ttl, -1);
      await assert.rejects(client.lease.keepAliveOnce(id), { kind: "lease-not-found" });
      await assert.rejects(client.lease.revoke(id), { kind: "lease-not-found" });
      await client.lease.grant(60, { id: 77n });
      await assert.rejects(client.lease.grant(60, { id: 77n }), { kind: "lease-exists" });
      await assert.rejects(client.lease.grant(10_000_000_000), { kind: "lease-ttl-too-large" });
    });

    test("a learner joins, is not asked what it cannot answer, and is promoted (R17, R18)", async () => {
      const member = await cluster.prepareMember();
      const added = await untilAllowed(() => client.cluster.memberAdd([member.peerUrl], { learner: true }));
      assert.equal(added.member.isLearner, true);
      assert.equal(added.members.length, 4);
      // Within the same second the new ID is the same too, and that is what etcd notices first (H10).
      await assert.rejects(client.cluster.memberAdd([member.peerUrl], { learner: true }), (error) =>
        isEtcdError(error, "peer-url-exists", "member-exists"),
      );
      await assert.rejects(client.cluster.memberPromote(added.member.id), { kind: "learner-not-ready" });
      await cluster.launch(member, { state: "existing" });
      await cluster.serving(member);

      const alone = cluster.client([member.endpoint]);
      assert.equal((await alone.maintenance.status(member.endpoint)).isLearner, true);
      assert.equal((await alone.kv.range("x", { serializable: true })).count, 0);
      await assert.rejects(alone.cluster.memberList(), { kind: "rpc-not-supported-for-learner" });
      await assert.rejects(alone.kv.put("x", "y"), {
        kind: "rpc-not-supported-for-learner",
        outcome: "not-applied",
      });
      await assert.rejects(client.maintenance.hashKv(member.endpoint, 0n), {
        kind: "rpc-not-supported-for-learner",
      });
      // The learner first in the list, and not known as one: the call ends up at a voter.
      const mixed = cluster.client([member.endpoint, ...cluster.endpoints]);
      assert.equal((await mixed.cluster.memberList()).members.length, 4);

      await eventually("the promotion", async () => {
        try {
          await client.cluster.memberPromote(added.member.id);
          return true;
        } catch (error) {
          if (isEtcdError(error, "learner-not-ready")) return false;
          throw error;
        }
      });
      await assert.rejects(client.cluster.memberPromote(added.member.id), { kind: "not-a-learner" });
      await assert.rejects(client.cluster.memberPromote(1n), { kind: "member-not-found" });
      client.setEndpoints(cluster.endpoints);
      const moved = `${member.peerUrl.replace("127.0.0.1", "localhost")}`;
      const updated = await client.cluster.memberUpdate(added.member.id, [moved]);
      assert.deepEqual(updated.members.find(({ id }) => id === added.member.id)?.peerUrls, [moved]);
      await client.cluster.memberUpdate(added.member.id, [member.peerUrl]);

      // Through those that stay: a member that removes itself may end before it has answered.
      client.setEndpoints(cluster.endpoints.slice(0, -1));
      const left = await untilAllowed(() => client.cluster.memberRemove(added.member.id));
      assert.equal(left.members.length, 3);
      assert.equal((await member.running.exited).reason, "permanently-removed");
      await assert.rejects(client.cluster.memberRemove(added.member.id), { kind: "member-not-found" });
      assert.match(formatId(added.member.id), /^[0-9a-f]+$/);
      cluster.members.pop();
      client.setEndpoints(cluster.endpoints);
    });

    test("a downgrade is validated and refused where it is not one minor back (R15)", async () => {
      const [, minor = 0] = version.split(".").map(Number);
      const old = version.startsWith("3.5");
      // With nothing to cancel 3.5 refuses; later versions take it as done.
      if (old) await assert.rejects(client.maintenance.downgrade("CANCEL", ""), { kind: "no-downgrade" });
      else await client.maintenance.downgrade("CANCEL", "");
      await assert.rejects(client.maintenance.downgrade("VALIDATE", `3.${minor - 2}`), {
        kind: "downgrade-version-invalid",
      });
      await assert.rejects(client.maintenance.downgrade("VALIDATE", "nonsense"), {
        kind: "downgrade-version-invalid",
      });
      await eventually("the cluster has agreed on its version", async () => {
        return (await client.maintenance.downgrade("VALIDATE", `3.${minor - 1}`)).startsWith(`3.${minor}`);
      });
      if (old) return; // 3.5 can validate, but not carry it out.
      await client.maintenance.downgrade("ENABLE", `3.${minor - 1}`);
      await assert.rejects(client.maintenance.downgrade("VALIDATE", `3.${minor - 1}`), {
        kind: "downgrade-in-progress",
      });
      await client.maintenance.downgrade("CANCEL", "");
      await eventually("the member has heard of it", async () => {
        return (await client.maintenance.status(first.endpoint)).downgrade?.enabled === false;
      });
    });

    test("requests that etcd refuses for their content are told apart", async () => {
      await assert.rejects(client.kv.put("", "x"), { kind: "empty-key" });
      await assert.rejects(client.kv.txn({ success: [ops.put("d", "1"), ops.put("d", "2")] }), {
        kind: "duplicate-key",
      });
      const many = Array.from({ length: 129 }, (_, i) => ops.put(`many/${i}`, "x"));
      await assert.rejects(client.kv.txn({ success: many }), { kind: "too-many-operations" });
      await assert.rejects(client.kv.put("large", "x".repeat(3 << 19)), { kind: "request-too-large" });
      await assert.rejects(client.kv.get("x", { revision: 1n << 40n }), { kind: "future-revision" });
      await assert.rejects(client.kv.compact(1n << 40n), { kind: "future-revision" });
      await assert.rejects(client.cluster.memberAdd(["nonsense"]), { kind: "bad-member-urls" });
      const follower = (await client.cluster.memberList()).members[0];
      await assert.rejects(client.cluster.memberAdd([...(follower?.peerUrls ?? [])]), {
        kind: "peer-url-exists",
      });
      await assert.rejects(client.maintenance.moveLeader(1n), { kind: "bad-leader-transferee" });
    });
  });
}

/** Membership changes are refused for a few seconds after a start or a change (R19). */
async function untilAllowed<T>(change: () => Promise<T>): Promise<T> {
  let result: T | undefined;
  await eventually("the change is allowed", async () => {
    try {
      result = await change();
      return true;
    } catch (error) {
      if (isEtcdError(error, "unhealthy-cluster", "not-enough-started")) return false;
      throw error;
    }
  });
  return result as T;
}
