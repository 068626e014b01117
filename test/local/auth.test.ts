/**
 * Authentication on real etcd: enabled and disabled on a running cluster, users by password and by certificate that may
 * do what their roles say and no more, drift, bad input, and a controller that is gone between any two steps.
 */
import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { existsSync, readFileSync, rmSync, statSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import type { EtcdClusterSpecInput } from "../../src/api/etcd-cluster-spec.ts";
import type { EtcdUser } from "../../src/api/etcd-user.ts";
import { API_VERSION } from "../../src/api/metadata.ts";
import { dispatch } from "../../src/cli/dispatch.ts";
import { collectingIo } from "../../src/cli/testing.ts";
import { verbs } from "../../src/cli/verbs.ts";
import { operations } from "../../src/local/operations.ts";
import { apply, find, hasReason, remove, setPassword, Somebody, subjectOf } from "../support/local-auth.ts";
import { assertNoLeakOnMachine } from "../support/leaks.ts";
import { CLUSTER, inOrder, LocalCluster } from "../support/local-cluster.ts";
import { EVERY_CASE, sampledVersions } from "../support/sample.ts";
import { passwordOf } from "../support/passwords.ts";

const denied = { kind: "permission-denied" } as const;
/** Objects and their users in etcd; each also has a password. */
const USERS = { alice: "alice", bob: "bob", carol: "carol", dave: "dave", erin: "erin@example.com" } as const;
type Name = keyof typeof USERS;
const SECOND = passwordOf("carol, the second one");
const enabled: EtcdClusterSpecInput["auth"] = { enabled: true, clientRoles: ["all-reader"] };

/** Three roles and five users, whichever way they come. */
async function mayDoWhatRolesSay({ alice, bob, carol, dave, erin }: Record<Name, Somebody>): Promise<void> {
  await bob.client.kv.put("orders/1", "x");
  await assert.rejects(bob.client.kv.put("other", "x"), denied);
  await assert.rejects(bob.client.kv.get("other"), denied);
  assert.ok(await alice.client.kv.get("orders/1"));
  await assert.rejects(alice.client.kv.put("orders/1", "y"), denied);
  await carol.client.kv.put("b", "x");
  await assert.rejects(carol.client.kv.put("c", "x"), denied);
  await assert.rejects(carol.client.kv.get("b"), denied);
  await assert.rejects(dave.client.kv.get("b"), denied);
  await erin.client.kv.put("anything", "x");
  assert.ok((await erin.client.auth.userList()).includes("quorate-controller"));
  await assert.rejects(alice.client.auth.userList(), denied);
}

for (const version of sampledVersions) {
  test(`etcd ${version}: users by certificate and by password may do what their roles say, from enabling to disabling`, async (t) => {
    await using local = await LocalCluster.start({ replicas: 1, version, tls: { mode: "Managed" } });
    const all = { permissions: [{ access: "Read", key: "", prefix: true }] } as const;
    await apply(local, "EtcdRole", "all-reader", { permissions: [...all.permissions] });
    await apply(local, "EtcdRole", "orders-writer", {
      permissions: [{ access: "ReadWrite", key: "orders/", prefix: true }],
    });
    await apply(local, "EtcdRole", "range", { permissions: [{ access: "Write", key: "a", rangeEnd: "c" }] });
    const bobs = { certificate: {}, passwordSecret: "bob-password" };
    for (const [name, spec] of Object.entries({
      alice: { roles: ["all-reader"] },
      bob: { roles: ["orders-writer"], ...bobs },
      carol: { roles: ["range"] },
      dave: { roles: [] },
      erin: { roles: ["root"], name: USERS.erin },
    })) {
      setPassword(local, `${name}-password`, passwordOf(name));
      await apply(local, "EtcdUser", name, { passwordSecret: `${name}-password`, ...spec });
    }

    await t.test("nothing is applied before auth is asked for", async () => {
      const message = await hasReason(local, "EtcdUser", "alice", "AuthDisabled");
      assert.match(message, /spec\.auth\.enabled/);
      assert.deepEqual(await (await local.client()).auth.userList(), []);
      assert.ok(!existsSync(local.files.userCertificate("bob")), "a certificate could do everything now");
    });

    await local.edit({ auth: enabled });
    await local.settled();
    await hasReason(local, "EtcdUser", "erin", "Applied");
    const steps = local.done();
    assert.ok(
      inOrder(
        steps,
        "ChangeAuth/AddRole",
        "ChangeAuth/AddUser",
        "ChangeAuth/ReadBack",
        "ChangeAuth/EnableAuth",
      ),
    );

    await using alice = await Somebody.byCertificate(local, "alice");
    await hasReason(local, "EtcdUser", "bob", "Applied");
    await using bob = Somebody.byOwnCertificate(local, "bob");
    await using carol = await Somebody.byCertificate(local, "carol");
    await using dave = await Somebody.byCertificate(local, "dave");
    await using erin = await Somebody.byCertificate(local, "erin@example.com");
    await using nobody = await Somebody.byCertificate(local, "nobody");
    await using member = await Somebody.byCertificate(local, `${CLUSTER}-1`);
    await using published = await Somebody.byCertificate(local, "quorate-user");

    await t.test("each may do what its roles say, by certificate and by password", async () => {
      const login = (name: Name) => Somebody.byPasswordWithTLS(local, USERS[name], passwordOf(name));
      await using alice2 = await login("alice");
      await using bob2 = await login("bob");
      await using carol2 = await login("carol");
      await using dave2 = await login("dave");
      await using erin2 = await login("erin");
      await mayDoWhatRolesSay({ alice, bob, carol, dave, erin });
      await mayDoWhatRolesSay({ alice: alice2, bob: bob2, carol: carol2, dave: dave2, erin: erin2 });
      assert.ok(await published.client.kv.get("orders/1"));
      await assert.rejects(published.client.kv.put("orders/1", "y"), denied);
      for (const stranger of [nobody, member]) await assert.rejects(stranger.client.kv.get("b"));
      await using mistaken = await Somebody.byPasswordWithTLS(local, "alice", passwordOf("bob"));
      await assert.rejects(mistaken.client.kv.get("b"), { kind: "auth-failed" });
    });

    await t.test("a user's own certificate is for its owner's eyes, and its end is told", async () => {
      const file = local.files.userCertificate("bob");
      assert.equal(statSync(file).mode & 0o777, 0o600);
      const { status } = (await find(local, "EtcdUser", "bob")) as EtcdUser;
      assert.equal(status?.certificate?.secret, file);
      assert.equal(
        Date.parse(status.certificate.expires),
        Date.parse(new X509Certificate(readFileSync(file)).validTo),
      );
    });

    await t.test("certificate issue gives a person that certificate, or one for an hour", async () => {
      const out = path.join(local.files.dir, "issued");
      for (const more of [[], ["--ttl", "1h", "--force"]]) {
        const io = collectingIo();
        const words = ["certificate", "issue", "bob", "--dir", local.files.dir, "--out", out, ...more];
        assert.equal(await dispatch(words, verbs, "0.0.0", io), 0, io.err());
        assert.match(io.out(), more.length === 0 ? /expires in (?:8\d|90)d/ : /expires in (59m|1h)/);
        await using person = Somebody.byFiles(local, out, "bob");
        await person.client.kv.put("orders/by-a-person", "x");
        await assert.rejects(person.client.kv.put("other", "x"), denied);
        assert.equal(statSync(path.join(out, "bob.key")).mode & 0o777, 0o600);
      }
    });

    await t.test("what somebody changes by hand is put right within 30 seconds", async () => {
      const { auth } = erin.client;
      const began = performance.now();
      await auth.userRevokeRole("bob", "orders-writer");
      await auth.userGrantRole("dave", "root");
      await auth.roleGrantPermission("all-reader", "WRITE", { key: "x" });
      await auth.userDelete("alice");
      await auth.userChangePassword("carol", passwordOf("changed by hand"));
      await auth.userAdd("mallory", passwordOf("another tool"));
      const isRight = async () => {
        const [bobs, daves, readers, users] = await Promise.all([
          auth.userGet("bob"),
          auth.userGet("dave"),
          auth.roleGet("all-reader"),
          auth.userList(),
        ]);
        const isBack = users.includes("alice") && (await auth.userGet("alice")).includes("all-reader");
        const isCarol = await auth.authenticate("carol", passwordOf("carol")).then(
          () => true,
          () => false,
        );
        return isBack && isCarol && bobs.length === 1 && daves.length === 0 && readers.length === 1;
      };
      await local.until("drift is gone", isRight);
      const mostMs = EVERY_CASE ? 30_000 : 90_000;
      assert.ok(performance.now() - began < mostMs, `${Math.round(performance.now() - began)} ms`);
      assert.ok((await auth.userList()).includes("mallory"), "users of others are left alone");
    });

    await t.test("a password follows its file", async () => {
      setPassword(local, "carol-password", SECOND);
      local.controller.loop.wake();
      await local.until("the new password is right", () =>
        erin.client.auth.authenticate("carol", SECOND).then(
          () => true,
          () => false,
        ),
      );
      await assert.rejects(erin.client.auth.authenticate("carol", passwordOf("carol")));
    });

    await t.test("bad input is told with its field, and leaves etcd as it is", async () => {
      await apply(local, "EtcdUser", "bob", { ...bobs, roles: ["orders-writer", "no-such-role"] });
      assert.match(await hasReason(local, "EtcdUser", "bob", "UnknownRole"), /^spec\.roles: .*no-such-role/i);
      rmSync(local.files.secret("carol-password"), { recursive: true });
      local.controller.loop.wake();
      assert.match(
        await hasReason(local, "EtcdUser", "carol", "PasswordMissing"),
        /^spec\.passwordSecret: .*carol-password/i,
      );
      await bob.client.kv.put("orders/2", "x");
      await carol.client.kv.put("b", "y");
      await assert.rejects(apply(local, "EtcdUser", "quorate-other", {}), /reserved|Quorate's own/);
      await assert.rejects(apply(local, "EtcdUser", "root", {}), /Quorate's own/);
      await assert.rejects(apply(local, "EtcdUser", `${CLUSTER}-1`, {}), /member/);
      await assert.rejects(apply(local, "EtcdRole", "root", {}), /built into etcd/);
      await assert.rejects(
        apply(local, "EtcdUser", "bob", { roles: ["orders-writer"], passwordSecret: "bob-password" }),
        /cannot be removed/,
      );
      await apply(local, "EtcdUser", "bob", { ...bobs, roles: ["orders-writer"] });
      await hasReason(local, "EtcdUser", "bob", "Applied");
      assert.ok(local.controller.loop.latest?.status.conditions?.some((one) => one.type === "AuthReady"));
    });

    await t.test("members join, are defragmented and compared with auth on", async () => {
      await local.edit({ replicas: 3, auth: enabled });
      await local.settled();
      assert.equal(local.view().voters, 3);
      await operations.createOperation(subjectOf(local), {
        apiVersion: API_VERSION,
        kind: "EtcdOperation",
        metadata: { name: "tidy" },
        spec: { cluster: CLUSTER, defragment: {} },
      });
      await local.until("the operation has ended", async () => {
        const { operations: found } = await local.controller.platform.operations.list();
        return found[0]?.status?.phase === "Succeeded";
      });
    });

    await t.test("a user that is deleted is gone, and a role once nobody has it", async () => {
      await remove(local, "EtcdRole", "orders-writer");
      assert.match(await hasReason(local, "EtcdRole", "orders-writer", "InUse"), /EtcdUser bob/);
      await remove(local, "EtcdUser", "bob");
      await local.until(
        "both are gone",
        async () => (await find(local, "EtcdRole", "orders-writer")) === undefined,
      );
      assert.equal(await find(local, "EtcdUser", "bob"), undefined);
      assert.ok(!(await erin.client.auth.userList()).includes("bob"));
      assert.ok(!(await erin.client.auth.roleList()).includes("orders-writer"));
      await assert.rejects(bob.client.kv.put("orders/1", "x"));
      assert.ok(!existsSync(local.files.userCertificate("bob")));
    });

    await t.test("a controller whose user was deleted lets itself back in as root, and says so", async () => {
      await erin.client.auth.userDelete("quorate-controller");
      await local.until("it is back", () => local.done().includes("ChangeAuth/RegainAccess"));
      await local.settled();
      const entry = local.steps.find(({ step }) => step === "ChangeAuth/RegainAccess");
      assert.match(entry?.reason ?? "", /certificate of user root/);
    });

    await t.test("no password and no key is told anywhere", () => {
      const generated = readFileSync(local.files.password(`${CLUSTER}-root`), "utf8").trim();
      assert.ok(generated.length > 20);
      assertNoLeakOnMachine(local, [passwordOf("carol"), SECOND]);
    });

    await t.test("it is disabled again on the running cluster", async () => {
      await local.edit({ auth: { enabled: false } });
      await local.settled();
      await nobody.client.kv.put("open", "x");
      await hasReason(local, "EtcdUser", "alice", "AuthDisabled");
      const ready = local.controller.loop.latest?.status.conditions?.find(({ type }) => type === "AuthReady");
      assert.deepEqual([ready?.status, ready?.reason], ["False", "Disabled"]);
    });
  });

  test(`etcd ${version}: users by password, without TLS`, async () => {
    await using local = await LocalCluster.start({ replicas: 1, version });
    setPassword(local, "my-root", passwordOf("given by me"));
    setPassword(local, "app", passwordOf("app"));
    await apply(local, "EtcdRole", "app", {
      permissions: [{ access: "ReadWrite", key: "app/", prefix: true }],
    });
    await apply(local, "EtcdUser", "app", { roles: ["app"], passwordSecret: "app" });
    // Left by somebody, with passwords that nobody knows, or none: enabling must not lock everybody out.
    const { auth } = await local.client();
    await auth.userAdd("root", undefined);
    await auth.userAdd("quorate-controller", passwordOf("another time"));
    await auth.userAdd("quorate-user", undefined);
    await local.edit({ auth: { enabled: true, rootPasswordSecret: "my-root", clientRoles: ["app"] } });
    await local.settled();
    await apply(local, "EtcdUser", "certified", { certificate: {} });
    assert.match(await hasReason(local, "EtcdUser", "certified", "CertificateUnavailable"), /plaintext/);
    await using root = Somebody.byPassword(local, "root", passwordOf("given by me"));
    await using app = Somebody.byPassword(local, "app", passwordOf("app"));
    const generated = readFileSync(local.files.password(`${CLUSTER}-client-auth`), "utf8").trim();
    await using client = Somebody.byPassword(local, "quorate-user", generated);
    await app.client.kv.put("app/1", "x");
    await client.client.kv.put("app/2", "x");
    await assert.rejects(app.client.kv.put("other", "x"), denied);
    await root.client.kv.put("other", "x");
    // A learner has to catch up with users, tokens and all before the controller is let in there.
    await local.edit({ replicas: 3 });
    await local.settled();
    assert.equal(local.view().voters, 3);
    setPassword(local, "my-root", passwordOf("another one"));
    local.controller.loop.wake();
    await using other = Somebody.byPassword(local, "root", passwordOf("another one"));
    await local.until("root has its new password", () =>
      other.client.kv.get("other").then(
        () => true,
        () => false,
      ),
    );
    await local.edit({ auth: { enabled: false } });
    await local.settled();
  });
}

for (const version of sampledVersions)
  test(`etcd ${version}: a controller that is gone between any two steps to enabled auth is followed by one that continues`, async () => {
    await using local = await LocalCluster.start({ replicas: 1, version, tls: { mode: "Managed" } });
    await local.halt();
    await apply(local, "EtcdRole", "all-reader", {
      permissions: [{ access: "Read", key: "", prefix: true }],
    });
    await apply(local, "EtcdUser", "alice", { roles: ["all-reader"] });
    await local.edit({ auth: enabled });
    for (let lives = 0; lives < 40; lives++) {
      const last = local.steps.length + 1;
      const end = performance.now() + 20_000;
      let converged = false;
      while (local.steps.length < last && !converged && performance.now() < end) {
        const { delayMs, decision } = await local.pass();
        converged = decision.converged && decision.act === undefined;
        if (!converged) await new Promise((resolve) => setTimeout(resolve, Math.min(delayMs, 50)));
      }
      if (converged && local.done().includes("ChangeAuth/EnableAuth")) break;
      await local.crash();
      await local.open();
    }
    const steps = local.done();
    assert.equal(steps.filter((step) => step === "ChangeAuth/EnableAuth").length, 1, local.story());
    assert.equal(steps.filter((step) => step === "ChangeAuth/RegainAccess").length, 0);
    await using alice = await Somebody.byCertificate(local, "alice");
    assert.equal(await alice.client.kv.get("a"), undefined, "it may read, and there is nothing");
    await assert.rejects(alice.client.kv.put("a", "x"), denied);
  });

test("auth that was enabled by hand is told with the way out, and does not lock the controller out", async () => {
  const version = sampledVersions.at(-1) ?? "";
  await using local = await LocalCluster.start({ replicas: 1, version, tls: { mode: "Managed" } });
  const { auth } = await local.client();
  await auth.userAdd("root", passwordOf("root"));
  await auth.userGrantRole("root", "root");
  await auth.enable();
  await local.until("it is told", (_view, { decision }) =>
    decision.holds.some(({ reason }) => reason === "AuthEnabledByHand"),
  );
  const { status } = local.controller.loop.latest ?? {};
  const ready = status?.conditions?.find(({ type }) => type === "AuthReady");
  assert.deepEqual([ready?.status, ready?.reason], ["False", "AuthEnabledByHand"]);
  assert.match(ready?.message ?? "", /spec\.auth\.enabled/);
  assert.equal((await auth.status()).enabled, true, "it is left on");
  await local.edit({ auth: { enabled: false } });
  await local.settled();
  assert.equal((await auth.status()).enabled, false);
});
