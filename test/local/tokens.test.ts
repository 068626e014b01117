/**
 * Auth tokens on real etcd: a client that logs in by password keeps working while the members change from Simple to JWT,
 * to another key and back, and so does the controller, which logs in by password too.
 */
import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { test } from "node:test";
import type { EtcdClusterSpecInput } from "../../src/api/etcd-cluster-spec.ts";
import { isEtcdError } from "../../src/etcd/errors.ts";
import { apply, hasReason, setPassword, Somebody } from "../support/local-auth.ts";
import { assertNoLeakOnMachine } from "../support/leaks.ts";
import { LocalCluster } from "../support/local-cluster.ts";
import { ask, ended } from "../support/local-operations.ts";
import { sampledVersions } from "../support/sample.ts";
import { passwordOf } from "../support/passwords.ts";

const enabled = (token?: NonNullable<EtcdClusterSpecInput["auth"]>["token"]) => ({
  auth: { enabled: true, clientRoles: [], ...(token && { token }) },
});

/** Writes until it is told to stop. Members restart under it: what it counts is refusals that a login did not end. */
function writing({ client }: Somebody) {
  const seen = { written: 0, refused: [] as string[] };
  let isOver = false;
  const done = (async () => {
    while (!isOver) {
      try {
        await client.kv.put("app/key", String(seen.written), { timeoutMs: 2_000 });
        seen.written++;
      } catch (error) {
        if (!isEtcdError(error)) throw error;
        if (error.kind.startsWith("auth-") || error.kind === "permission-denied")
          seen.refused.push(error.message);
      }
      // etcd signs and checks; how often is not the point.
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  })();
  const stop = async () => {
    isOver = true;
    await done;
  };
  return { seen, stop };
}

for (const version of sampledVersions) {
  test(`etcd ${version}: clients by password work on while tokens and their key change`, async (t) => {
    await using local = await LocalCluster.start({ replicas: 3, version, tls: { mode: "Disabled" } });
    setPassword(local, "app", passwordOf("app"));
    await apply(local, "EtcdRole", "app", {
      permissions: [{ access: "ReadWrite", key: "app/", prefix: true }],
    });
    await apply(local, "EtcdUser", "app", { roles: ["app"], passwordSecret: "app" });
    await local.edit(enabled());
    await hasReason(local, "EtcdUser", "app", "Applied");
    await local.settled();
    await using somebody = Somebody.byPassword(local, "app", passwordOf("app"));
    const writer = writing(somebody);
    const kept = () => readdirSync(local.files.tokenKeys);
    const configs = () =>
      local.view().members.map(({ name }) => readFileSync(local.files.configOf(name), "utf8"));

    await t.test("from Simple to JWT, with a key that nobody else can read", async () => {
      await local.edit(enabled({ type: "JWT", ttl: "1m" }));
      await local.settled();
      assert.deepEqual(kept(), ["1.key"]);
      assert.equal(statSync(local.files.tokenKey(1)).mode & 0o777, 0o600);
      assert.ok(configs().every((text) => text.includes("sign-method=HS256,ttl=60s")));
      const token = await somebody.client.auth.authenticate("app", passwordOf("app"));
      assert.equal(token.split(".").length, 3, "it is a JWT");
    });

    await t.test("to another key, by an operation", async () => {
      const before = readFileSync(local.files.tokenKey(1), "utf8");
      await ask(local, "another-key", { rotateCertificates: { tokenKey: true } });
      assert.equal((await ended(local, "another-key")).phase, "Succeeded");
      await local.settled();
      assert.deepEqual(kept(), ["2.key"]);
      assert.notEqual(readFileSync(local.files.tokenKey(2), "utf8"), before);
      assertNoLeakOnMachine(local, [before.trim()]);
    });

    await t.test("and back to Simple", async () => {
      await local.edit(enabled({ type: "Simple" }));
      await local.settled();
      assert.deepEqual(kept(), []);
      assert.ok(configs().every((text) => !text.includes("auth-token")));
    });

    await writer.stop();
    assert.deepEqual(writer.seen.refused, []);
    assert.ok(writer.seen.written > 50, `${writer.seen.written} writes`);
    assertNoLeakOnMachine(local);
  });
}
