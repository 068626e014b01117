/**
 * Auth and a lost quorum on real etcd: two of three members lose their data, and the controller is followed by another
 * one, which has no token. It tells what it sees and what brings the data back; then users are what they were.
 */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import { apply, hasReason, setPassword, Somebody } from "../support/local-auth.ts";
import { LocalCluster } from "../support/local-cluster.ts";
import { ask, ended } from "../support/local-operations.ts";
import { sampledVersions } from "../support/sample.ts";
import { passwordOf } from "../support/passwords.ts";

const denied = { kind: "permission-denied" } as const;
const PASSWORD = passwordOf("app");

const LOGINS = [
  {
    by: "certificate",
    mode: "Managed",
    login: (local: LocalCluster) => Somebody.byCertificate(local, "app"),
  },
  {
    by: "password",
    mode: "Disabled",
    login: (local: LocalCluster) => Somebody.byPassword(local, "app", PASSWORD),
  },
] as const;

for (const version of sampledVersions)
  for (const { by, mode, login } of LOGINS)
    test(`etcd ${version}: a controller that logs in by ${by} tells of the loss, and a recovery keeps auth`, async () => {
      await using local = await LocalCluster.start({ replicas: 3, version, tls: { mode } });
      const permissions = [{ access: "ReadWrite", key: "app/", prefix: true }] as const;
      setPassword(local, "app", PASSWORD);
      await apply(local, "EtcdRole", "app", { permissions: [...permissions] });
      await apply(local, "EtcdUser", "app", { roles: ["app"], passwordSecret: "app" });
      await local.edit({ auth: { enabled: true, clientRoles: [] } });
      await local.settled();
      await hasReason(local, "EtcdUser", "app", "Applied");
      await using app = await login(local);
      await app.client.kv.put("app/key", "kept");
      // What is in the log of the survivor is what counts.
      await local.until("every member has it", ({ members }) =>
        members.every(({ answer }) => answer.reachable && answer.revision >= 2),
      );

      const lost = ["demo-1", "demo-3"];
      await Promise.all(lost.map((name) => local.wipe(name)));
      await local.crash();
      await local.open();
      local.run();
      await local.until("there is a plan", (_, { status }) => status.recovery !== undefined);
      const { status } = local.controller.loop.latest ?? {};
      const quorate = status?.conditions?.find(({ type }) => type === "Quorate");
      assert.deepEqual([quorate?.status, status?.recovery?.survivor], ["False", "demo-2"]);
      assert.ok(!local.done().includes("ChangeAuth/RegainAccess"));
      const [survivor] = (await local.records()).filter(({ name }) => !lost.includes(name));
      assert.ok(survivor);
      if (by === "certificate") {
        await using still = await login(local);
        still.client.setEndpoints([local.controller.platform.endpoint(survivor)]);
        const found = await still.client.kv.get("app/key", { serializable: true });
        assert.equal(
          Buffer.from(found?.value ?? "").toString(),
          "kept",
          "etcd lets it read without a quorum",
        );
      }

      await ask(local, "recover", { recoverQuorum: { approve: status?.recovery?.plan ?? "" } });
      const { phase, message } = await ended(local, "recover");
      assert.equal(phase, "Succeeded", `${message}\n${local.story()}`);
      await local.settled();
      assert.equal((await (await local.client()).auth.status()).enabled, true, "auth is as it was");
      await hasReason(local, "EtcdUser", "app", "Applied");
      await using again = await login(local);
      assert.equal(Buffer.from((await again.client.kv.get("app/key"))?.value ?? "").toString(), "kept");
      await again.client.kv.put("app/key", "written again");
      await assert.rejects(again.client.kv.put("other", "x"), denied);
    });
