/** Users, roles, tokens and certificates as users, on real etcd. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { EtcdClient } from "../../src/etcd/client.ts";
import { text } from "../../src/etcd/convert.ts";
import { GrpcTransport } from "../../src/etcd/grpc/transport.ts";
import { systemClock } from "../../src/seams/clock.ts";
import { eventually } from "../../testbed/eventually.ts";
import { TestCluster, type TestMember } from "../support/etcd-cluster.ts";
import { newestVersions } from "../support/etcd-versions.ts";
import { passwordOf } from "../support/passwords.ts";

for (const version of newestVersions) {
  test(`etcd ${version}: authentication from nothing to users with roles, and back`, async (t) => {
    await using cluster = await TestCluster.start({ version, members: 1 });
    const member = cluster.members[0] as TestMember;
    const open = cluster.client();
    const transport = cluster.transport();
    const as = (user: string, password: string) =>
      new EtcdClient({
        transport,
        clock: systemClock,
        endpoints: cluster.endpoints,
        credentials: { user, password },
      });
    const root = as("root", passwordOf("root"));

    await t.test("it cannot be enabled before root has its role (R39)", async () => {
      assert.equal((await open.auth.status()).enabled, false);
      await assert.rejects(open.auth.enable(), { kind: "auth-root-user-missing" });
      await assert.rejects(open.auth.authenticate("root", "x"), { kind: "auth-not-enabled" });
      await open.auth.userAdd("root", passwordOf("root"));
      await assert.rejects(open.auth.userAdd("root", passwordOf("root")), { kind: "auth-user-exists" });
      await assert.rejects(open.auth.enable(), { kind: "auth-root-role-missing" });
      await assert.rejects(open.auth.userGrantRole("root", "nothing"), { kind: "auth-role-not-found" });
      await open.auth.roleAdd("root").catch(() => undefined); // Some versions have it from the start.
      await open.auth.userGrantRole("root", "root");
    });

    await t.test("a client with credentials works before, while and after it is enabled", async () => {
      await root.kv.put("a", "1");
      await open.auth.enable();
      await root.kv.put("a", "2");
      const status = await root.auth.status();
      assert.deepEqual([status.enabled, status.revision > 0n], [true, true]);
      await assert.rejects(open.kv.get("a"), { kind: "auth-user-required" });
      await assert.rejects(as("root", "wrong").kv.get("a"), { kind: "auth-failed" });
      await assert.rejects(root.auth.userDelete("root"), { kind: "auth-invalid-management" });
      assert.ok((await root.auth.authenticate("root", passwordOf("root"))).length > 0);
    });

    await t.test("a user may what its roles grant, and no more", async () => {
      await root.auth.roleAdd("reader");
      await assert.rejects(root.auth.roleAdd("reader"), { kind: "auth-role-exists" });
      await root.auth.roleGrantPermission("reader", "READ", { key: "app/", prefix: true });
      const [permission] = await root.auth.roleGet("reader");
      assert.deepEqual(
        [
          permission?.type,
          text(permission?.key ?? new Uint8Array()),
          text(permission?.rangeEnd ?? new Uint8Array()),
        ],
        ["READ", "app/", "app0"],
      );
      await root.auth.userAdd("alice", passwordOf("alice"));
      await root.auth.userGrantRole("alice", "reader");
      assert.deepEqual(await root.auth.userGet("alice"), ["reader"]);
      assert.ok((await root.auth.userList()).includes("alice"));
      assert.ok((await root.auth.roleList()).includes("reader"));
      const alice = as("alice", passwordOf("alice"));
      assert.equal(await alice.kv.get("app/x"), undefined);
      await assert.rejects(alice.kv.put("app/x", "1"), { kind: "permission-denied", outcome: "not-applied" });
      await assert.rejects(alice.kv.get("other"), { kind: "permission-denied" });
      await assert.rejects(alice.cluster.memberAdd(["http://127.0.0.1:1"]), { kind: "permission-denied" });
      const watching = alice.watches.watch("other")[Symbol.asyncIterator]();
      await assert.rejects(watching.next() as Promise<unknown>, { kind: "permission-denied" });
    });

    await t.test("a token that is no longer good is renewed unseen", async () => {
      const alice = as("alice", passwordOf("alice"));
      await alice.kv.get("app/x");
      // Each change of users or roles makes the tokens of before too old; a restart forgets simple ones.
      await root.auth.userChangePassword("alice", passwordOf("alice again"));
      await assert.rejects(as("alice", passwordOf("alice")).kv.get("app/x"), { kind: "auth-failed" });
      await member.running.stop();
      await cluster.restart(member);
      await eventually("root reads again", async () => (await root.kv.get("a")) !== undefined);
      await root.kv.put("a", "3");
    });

    await t.test("what was granted is taken away again", async () => {
      await assert.rejects(root.auth.roleRevokePermission("reader", { key: "none" }), {
        kind: "auth-permission-not-granted",
      });
      await root.auth.roleRevokePermission("reader", { key: "app/", prefix: true });
      assert.deepEqual(await root.auth.roleGet("reader"), []);
      await root.auth.userRevokeRole("alice", "reader");
      await assert.rejects(root.auth.userRevokeRole("alice", "reader"), { kind: "auth-role-not-granted" });
      await root.auth.userDelete("alice");
      await assert.rejects(root.auth.userGet("alice"), { kind: "auth-user-not-found" });
      await root.auth.roleDelete("reader");
      await assert.rejects(root.auth.roleGet("reader"), { kind: "auth-role-not-found" });
      await root.auth.disable();
      await open.kv.put("a", "4");
    });
  });

  test(`etcd ${version}: a certificate's common name is a user without a password (R40)`, async () => {
    await using cluster = await TestCluster.start({ version, members: 1, tls: true });
    const root = cluster.client(); // Its certificate says "root".
    await root.auth.userAdd("root");
    await root.auth.roleAdd("root").catch(() => undefined);
    await root.auth.userGrantRole("root", "root");
    await root.auth.enable();
    await root.kv.put("a", "1");
    const tls = await cluster.pki?.client("stranger");
    const transport = new GrpcTransport({ clock: systemClock, ...(tls && { tls }) });
    try {
      const stranger = new EtcdClient({ transport, clock: systemClock, endpoints: cluster.endpoints });
      await assert.rejects(stranger.kv.get("a"), { kind: "permission-denied" });
    } finally {
      await transport.close();
    }
  });
}
