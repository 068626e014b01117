/**
 * Restored data brings its own users, on real etcd: the controller lets itself in, users of the snapshot may do what their
 * roles said, and what the resources say is applied to them again. In place, and at first boot from the data of somebody
 * who never heard of us.
 */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import type { EtcdClusterSpecInput } from "../../src/api/etcd-cluster-spec.ts";
import type { Manifest } from "../../src/snapshot/manifest.ts";
import { TestCluster } from "../support/etcd-cluster.ts";
import { newestVersions } from "../support/etcd-versions.ts";
import { apply, hasReason, remove, Somebody } from "../support/local-auth.ts";
import { LocalCluster } from "../support/local-cluster.ts";
import { ask, ended } from "../support/local-operations.ts";
import { sampled } from "../support/sample.ts";
import { snapshotJson } from "../support/snapshot-verbs.ts";
import { passwordOf } from "../support/passwords.ts";

const dir = mkdtempSync(path.join(os.tmpdir(), "quorate-restore-auth-"));
after(() => rmSync(dir, { recursive: true, force: true }));

const denied = { kind: "permission-denied" } as const;
const auth: EtcdClusterSpecInput["auth"] = { enabled: true, clientRoles: [] };
const tls = { mode: "Managed" } as const;
const versions = sampled(newestVersions.filter((version) => !version.startsWith("3.4")));

/** As a person: without an approval, the answer has the hash that approves it. */
async function restored(local: LocalCluster, file: string): Promise<void> {
  const source = { file: { path: file } };
  await ask(local, "plan", { restore: { source } });
  const { message = "" } = await ended(local, "plan");
  const approve = /approve: ([0-9a-f]{16})/.exec(message)?.[1] ?? "";
  await ask(local, "restore", { restore: { source, approve } });
  const { phase, message: told } = await ended(local, "restore");
  assert.equal(phase, "Succeeded", `${told}\n${local.story()}`);
}

for (const version of versions) {
  test(`etcd ${version}, in place: users of the snapshot are back, and those of the resources are applied again`, async () => {
    await using local = await LocalCluster.start({ replicas: 1, version, tls });
    await apply(local, "EtcdRole", "orders", {
      permissions: [{ access: "ReadWrite", key: "orders/", prefix: true }],
    });
    await apply(local, "EtcdUser", "alice", { roles: ["orders"] });
    await apply(local, "EtcdUser", "former", { roles: ["orders"] });
    await apply(local, "EtcdUser", "keeper", { roles: ["root"], certificate: {} });
    await local.edit({ auth });
    await local.settled();
    for (const user of ["alice", "former", "keeper"]) await hasReason(local, "EtcdUser", user, "Applied");
    await using alice = await Somebody.byCertificate(local, "alice");
    await alice.client.kv.put("orders/1", "of the snapshot");
    const file = path.join(dir, `${version}.db`);
    const [record] = await local.records();
    assert.ok(record);
    const keeper = local.files.userCertificate("keeper");
    const by = ["--cacert", path.join(local.files.pki, "ca-client.crt"), "--cert", keeper, "--key", keeper];
    const { url } = local.controller.platform.endpoint(record);
    await snapshotJson<Manifest>(["save", "--endpoints", url, ...by, file]);

    await alice.client.kv.put("orders/1", "changed since");
    await remove(local, "EtcdUser", "former");
    await apply(local, "EtcdUser", "later", { roles: ["orders"] });
    await hasReason(local, "EtcdUser", "later", "Applied");

    await restored(local, file);
    await local.settled();
    const root = await local.client();
    assert.equal((await root.auth.status()).enabled, true, "auth is as it was");
    await hasReason(local, "EtcdUser", "later", "Applied");
    await using again = await Somebody.byCertificate(local, "alice");
    const found = await again.client.kv.get("orders/1");
    assert.equal(Buffer.from(found?.value ?? "").toString(), "of the snapshot");
    await assert.rejects(again.client.kv.put("other", "x"), denied);
    await using later = await Somebody.byCertificate(local, "later");
    await local.until("the user that the snapshot did not have may write", () =>
      later.client.kv.put("orders/2", "x").then(
        () => true,
        () => false,
      ),
    );
    // No resource describes it any more: it is left alone, as everything is that others made.
    assert.ok((await root.auth.userList()).includes("former"));
  });

  test(`etcd ${version}, at first boot: data of somebody else with auth on lets the controller in by its certificate`, async () => {
    const file = path.join(dir, `foreign-${version}.db`);
    {
      await using foreign = await TestCluster.start({ version, members: 1 });
      const client = foreign.client();
      await client.kv.put("key", "of somebody else");
      await client.auth.userAdd("root", passwordOf("root"));
      await client.auth.userGrantRole("root", "root");
      await client.auth.enable();
      const [member] = foreign.members;
      assert.ok(member);
      const login = ["--user", "root", "--password", passwordOf("root")];
      await snapshotJson<Manifest>(["save", "--endpoints", member.clientUrl, ...login, file]);
    }
    const restore = { source: { file: { path: file } } };
    await using local = await LocalCluster.start({ replicas: 3, version, tls, auth, bootstrap: { restore } });
    const client = await local.client();
    assert.equal(Buffer.from((await client.kv.get("key"))?.value ?? "").toString(), "of somebody else");
    const users = await client.auth.userList();
    for (const user of ["root", "quorate-controller", "quorate-user"]) assert.ok(users.includes(user), user);
    await using stranger = await Somebody.byCertificate(local, "stranger");
    await assert.rejects(stranger.client.kv.get("key"));
  });
}
