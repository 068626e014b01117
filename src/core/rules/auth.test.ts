/** The rule of etcd's authentication: the order in which it is enabled, drift, deletion, and what blocks it. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { describe, test } from "node:test";
import type { AuthSpec } from "../../api/auth.ts";
import { authAfter } from "../auth/after.ts";
import type { Access, AuthChange, AuthFacts, EtcdAuth, RoleFacts, UserFacts } from "../auth/facts.ts";
import { reportAuth } from "../auth/report.ts";
import { authReady } from "../status/conditions.ts";
import { healthy } from "../testing/cluster.ts";
import { viewOf, type View } from "../view.ts";
import { auth as rule } from "./auth.ts";

const EMPTY: EtcdAuth = { enabled: false, users: {}, roles: {}, passwords: {}, predicted: false };
const ENABLED: AuthSpec = { enabled: true, clientRoles: ["app"] };

function described(name: string) {
  return {
    object: name,
    uid: `uid-${name}`,
    resourceVersion: "1",
    generation: 1,
    createdAt: 0,
    deleting: false,
    applied: true,
    name,
    status: {},
  };
}

const user = (name: string, more: Partial<UserFacts> = {}): UserFacts => ({
  ...described(name),
  roles: ["app"],
  ...more,
});
const role = (name: string, more: Partial<RoleFacts> = {}): RoleFacts => ({
  ...described(name),
  permissions: [{ access: "ReadWrite", key: "app/", prefix: true }],
  ...more,
});

function facts(more: Partial<AuthFacts> = {}): AuthFacts {
  return {
    self: "quorate-operator",
    byCertificate: true,
    users: [user("alice")],
    roles: [role("app")],
    passwords: { "demo-root": { version: 1 }, "demo-operator-auth": { version: 2 } },
    ownSecrets: { root: "demo-root", operator: "demo-operator-auth" },
    canActAsRoot: true,
    etcd: EMPTY,
    ...more,
  };
}

function seen(auth: AuthFacts, spec: AuthSpec | undefined = ENABLED): View {
  const observation = healthy();
  const { auth: _, ...rest } = observation.cluster.spec;
  return viewOf({
    ...observation,
    cluster: { ...observation.cluster, spec: spec ? { ...rest, auth: spec } : rest },
    auth,
  });
}

/** Steps until there is none, as if each succeeded; and what etcd has then. */
function walked(
  start: AuthFacts,
  spec: AuthSpec | undefined = ENABLED,
): { steps: string[]; facts: AuthFacts } {
  let now = start;
  const steps: string[] = [];
  for (let count = 0; count < 100; count++) {
    const [outcome] = rule(seen(now, spec));
    if (!outcome || "hold" in outcome) break;
    const { action } = outcome.act;
    if (action.kind === "ChangeAuth") {
      steps.push(said(action.change));
      now = { ...now, etcd: authAfter(now.etcd ?? EMPTY, action.change, now.passwords) };
    } else if (action.kind === "UpdateAuthObject" && "applied" in action.change) {
      const { applied } = action.change;
      steps.push(`${applied ? "apply" : "release"} ${action.name}`);
      const update = <T extends UserFacts | RoleFacts>(objects: readonly T[]) =>
        objects.flatMap((one) => (one.uid !== action.uid ? [one] : applied ? [{ ...one, applied }] : []));
      now = { ...now, users: update(now.users), roles: update(now.roles) };
    }
  }
  return { steps, facts: now };
}

function said(change: AuthChange): string {
  const { do: what, ...rest } = change as AuthChange & Record<string, unknown>;
  return [what, rest["user"], rest["role"]].filter((word) => word !== undefined).join(" ");
}

const holdOf = (auth: AuthFacts, spec?: AuthSpec) => {
  const [outcome] = rule(seen(auth, spec));
  return outcome && "hold" in outcome ? outcome.hold : undefined;
};

describe("enabling", () => {
  test("roles come first, then root, ourselves and the others; it is read back before it is enabled, and after", () => {
    const { steps } = walked(facts({ users: [user("alice", { applied: false })] }));
    assert.deepEqual(steps, [
      "AddRole app",
      "GrantPermission app",
      "AddUser root",
      "GrantRole root root",
      "AddUser quorate-operator",
      "GrantRole quorate-operator root",
      "AddUser quorate-user",
      "GrantRole quorate-user app",
      "AddUser quorate-snapshot",
      "GrantRole quorate-snapshot root",
      "apply alice",
      "AddUser alice",
      "GrantRole alice app",
      "ReadBack",
      "EnableAuth",
      "ReadBack",
    ]);
  });

  test("is not tried while the published credentials or root could not be what was asked for", () => {
    const unknown = holdOf(walked(facts(), { enabled: true, clientRoles: ["none"] }).facts, {
      enabled: true,
      clientRoles: ["none"],
    });
    assert.equal(unknown?.reason, "AuthPending");
    assert.match(unknown?.message ?? "", /spec\.auth\.clientRoles.*none/);
    const spec = { ...ENABLED, rootPasswordSecret: "mine" };
    const passwords = { ...facts().passwords, mine: { problem: "the Secret does not exist" } };
    const missing = holdOf(walked(facts({ passwords }), spec).facts, spec);
    assert.match(missing?.message ?? "", /spec\.auth\.rootPasswordSecret.*mine/);
  });

  test("users, roles and Secrets may be named like properties of every object", () => {
    for (const name of ["constructor", "toString", "__proto__"]) {
      const one = user(name, { roles: [name], passwordSecret: name });
      const start = facts({ users: [one], roles: [role(name), role("app")] });
      assert.match(holdOf(walked(start).facts)?.message ?? "none", /^none$/);
      const [problem] = reportAuth(seen(start));
      assert.ok(problem && "status" in problem.change);
      assert.equal(problem.change.status.reason, "PasswordMissing");
      const passwords = Object.fromEntries([...Object.entries(start.passwords), [name, { version: 9 }]]);
      const { steps } = walked({ ...start, passwords });
      assert.ok(steps.includes(`AddRole ${name}`) && steps.includes(`GrantRole ${name} ${name}`), name);
      assert.equal(steps.at(-1), "ReadBack");
    }
  });

  test("without certificates, users that were there before are added again with our passwords before it is enabled", () => {
    const start = facts({
      byCertificate: false,
      canActAsRoot: false,
      users: [],
      passwords: { ...facts().passwords, "demo-client-auth": { version: 3 } },
      ownSecrets: { ...facts().ownSecrets, client: "demo-client-auth" },
      etcd: { ...EMPTY, users: { root: ["root"], "quorate-operator": ["root"], "quorate-user": [] } },
    });
    const { steps } = walked(start);
    assert.deepEqual(steps, [
      "AddRole app",
      "GrantPermission app",
      "DeleteUser root",
      "AddUser root",
      "GrantRole root root",
      "DeleteUser quorate-operator",
      "AddUser quorate-operator",
      "GrantRole quorate-operator root",
      "DeleteUser quorate-user",
      "AddUser quorate-user",
      "GrantRole quorate-user app",
      "ReadBack",
      "EnableAuth",
      "ReadBack",
    ]);
    const given = walked({ ...start, byCertificate: true }).steps;
    assert.ok(
      given.indexOf("AddUser quorate-operator") < given.indexOf("EnableAuth"),
      "no way back in as root",
    );
    const managed = walked({ ...start, byCertificate: true, canActAsRoot: true }).steps;
    assert.ok(managed.indexOf("EnableAuth") < managed.indexOf("ChangePassword root"));
  });

  test("it waits until every member runs with the tokens of the spec, and changes users meanwhile", () => {
    const { steps, facts: ready } = walked(facts(), { ...ENABLED, token: { type: "JWT" } });
    assert.ok(steps.includes("AddUser root") && !steps.includes("EnableAuth"));
    const [outcome] = rule(seen(ready, { ...ENABLED, token: { type: "JWT" } }));
    assert.ok(outcome && "hold" in outcome);
    assert.deepEqual(
      [outcome.hold.code, outcome.hold.params],
      ["AuthAwaitsTokens", { members: ["demo-1", "demo-2", "demo-3"] }],
    );
  });

  test("nothing is done without a quorum, nor before etcd was asked", () => {
    const { etcd: _, ...unread } = facts();
    assert.equal(holdOf(unread)?.code, "AuthNotRead");
    const view = seen(facts());
    assert.deepEqual(rule({ ...view, hasQuorum: false }), []);
  });
});

describe("once it is enabled", () => {
  const done = walked(facts()).facts;
  const etcd = done.etcd as EtcdAuth;

  test("nothing is left to do, and the condition says so", () => {
    assert.deepEqual(walked(done).steps, []);
    assert.equal(authReady(seen(done))?.status, "True");
  });

  test("only what differs is changed, grants before revocations", () => {
    const drifted: EtcdAuth = {
      ...etcd,
      users: { ...etcd.users, alice: ["root"], mallory: ["root"] },
      roles: { ...etcd.roles, app: [...(etcd.roles["app"] ?? []), { access: "Read", key: "00", end: "00" }] },
    };
    const { steps } = walked({ ...done, etcd: drifted });
    assert.deepEqual(steps, [
      "GrantRole alice app",
      "RevokeRole alice root",
      "RevokePermission app",
      "ReadBack",
    ]);
  });

  describe("a permission for a key that another one of its role begins with too", () => {
    const permissions = [
      { access: "Read", key: "app/" },
      { access: "Read", key: "app/", prefix: true },
    ] as const;
    const [key, end] = [Buffer.from("app/").toString("hex"), Buffer.from("app0").toString("hex")];
    const has = (...of: [end: string, access: Access][]) =>
      walked({
        ...done,
        roles: [role("app", { permissions })],
        etcd: {
          ...etcd,
          roles: { ...etcd.roles, app: of.map(([to, access]) => ({ access, key, end: to })) },
        },
      }).steps;

    test("that etcd would keep beside the narrower one is revoked first", () => {
      const steps = ["RevokePermission app", "GrantPermission app", "ReadBack"];
      assert.deepEqual(has(["", "Read"], [end, "ReadWrite"]), steps);
      assert.deepEqual(has(["", "Read"], [end, "Write"]), steps);
    });

    test("that is there twice is so in none of the two orders, unless both together permit what they should", () => {
      const steps = ["RevokePermission app", "GrantPermission app", "ReadBack"];
      assert.deepEqual(has(["", "Read"], [end, "ReadWrite"], [end, "Read"]), steps);
      assert.deepEqual(has(["", "Read"], [end, "Read"], [end, "ReadWrite"]), steps);
      assert.deepEqual(has(["", "Read"], [end, "Read"], [end, "Read"]), []);
    });

    test("is widened without being revoked", () => {
      const wide = [permissions[0], { ...permissions[1], access: "ReadWrite" }] as const;
      const app = (["", end] as const).map((to) => ({ access: "Read", key, end: to }) as const);
      const { steps } = walked({
        ...done,
        roles: [role("app", { permissions: wide })],
        etcd: { ...etcd, roles: { ...etcd.roles, app } },
      });
      assert.deepEqual(steps, ["GrantPermission app", "ReadBack"]);
    });
  });

  test("a password that is another one is set, and once", () => {
    const carol = user("carol", { passwordSecret: "carol" });
    const before = walked({
      ...done,
      users: [...done.users, carol],
      passwords: { ...done.passwords, carol: { version: 7 } },
    });
    assert.deepEqual(before.steps, ["AddUser carol", "GrantRole carol app", "ReadBack"]);
    const changed = { ...before.facts, passwords: { ...before.facts.passwords, carol: { version: 8 } } };
    assert.deepEqual(walked(changed).steps, ["ChangePassword carol", "ReadBack"]);
  });

  test("a user whose description is wrong is left as it is, and told which field", () => {
    const wrong = user("alice", { roles: ["none"] });
    const now = { ...done, users: [wrong] };
    assert.deepEqual(walked(now).steps, []);
    const [write] = reportAuth(seen(now));
    assert.ok(write && "status" in write.change);
    assert.equal(write.change.status.reason, "UnknownRole");
    assert.match(write.change.status.message ?? "", /^spec\.roles: /i);
    assert.equal(authReady(seen(now))?.status, "True", "one user's mistake is not the cluster's");
  });

  test("a message that is longer than its field is told once", () => {
    const now = {
      ...done,
      users: [user("alice", { roles: Array.from({ length: 40 }, (_, n) => `${n}`.repeat(30)) })],
    };
    const [write] = reportAuth(seen(now));
    assert.ok(write && "status" in write.change);
    const { status } = write.change;
    assert.equal(status.message?.length, 1024);
    const reported = { ...now, users: now.users.map((one) => ({ ...one, status: status })) };
    assert.deepEqual(
      reportAuth(seen(reported)).filter(({ of }) => of === "EtcdUser"),
      [],
    );
  });

  test("the older of two that describe one user has it", () => {
    const second = user("alice-again", { name: "alice", roles: ["root"], createdAt: 5 });
    const now = { ...done, users: [...done.users, second] };
    assert.deepEqual(walked(now).steps, []);
    const reported = reportAuth(seen(now)).find(({ name }) => name === "alice-again");
    assert.ok(reported && "status" in reported.change && reported.change.status.reason === "NameTaken");
  });

  test("a user of Quorate's own is not an EtcdUser's: not changed, not deleted, and told", () => {
    for (const name of ["quorate-operator", "root", "quorate-user", "quorate-snapshot"]) {
      const mine = user("mine", { name, roles: ["app"] });
      const now = { ...done, users: [...done.users, mine] };
      assert.deepEqual(walked(now).steps, [], name);
      const reported = reportAuth(seen(now)).find((write) => write.name === "mine");
      assert.ok(reported && "status" in reported.change && reported.change.status.reason === "NameTaken");
      assert.match(reported.change.status.message ?? "", /^spec\.name: Quorate itself uses/i);
      const gone = { ...done, users: [...done.users, { ...mine, deleting: true }] };
      assert.deepEqual(walked(gone).steps, ["release mine"], name);
      assert.deepEqual(walked(gone, { enabled: false }).steps.slice(0, 3), [
        "DisableAuth",
        "release mine",
        "ReadBack",
      ]);
    }
  });

  test("a deleted user goes before its role, and a role stays while anybody has it", () => {
    const gone = { deleting: true };
    const [alice, app] = [user("alice", gone), role("app", gone)];
    const free = { ...ENABLED, clientRoles: [] };
    assert.deepEqual(walked({ ...done, users: [alice], roles: [app] }, free).steps, [
      "RevokeRole quorate-user app",
      "DeleteUser alice",
      "release alice",
      "DeleteRole app",
      "release app",
      "ReadBack",
    ]);
    const used = { ...done, roles: [app] };
    assert.deepEqual(walked(used).steps, []);
    const reported = reportAuth(seen(used)).find(({ of }) => of === "EtcdRole");
    assert.ok(reported && "status" in reported.change && reported.change.status.reason === "InUse");
  });

  test("it is disabled when that is asked for, and users stay; deleted ones go then too", () => {
    const { steps, facts: after } = walked(done, { enabled: false });
    assert.deepEqual(steps, ["DisableAuth", "ReadBack"]);
    assert.ok(after.etcd?.users["alice"]);
    const deleted = { ...after, users: [user("alice", { deleting: true })] };
    assert.deepEqual(walked(deleted, { enabled: false }).steps, [
      "DeleteUser alice",
      "release alice",
      "ReadBack",
    ]);
    const reported = reportAuth(seen(after, { enabled: false }))[0];
    assert.ok(reported && "status" in reported.change && reported.change.status.reason === "AuthDisabled");
  });

  test("without a word in the spec it is left alone, and told with the way out", () => {
    const view = { ...seen(done), spec: { ...seen(done).spec } };
    delete (view.spec as { auth?: AuthSpec }).auth;
    const [outcome] = rule(view);
    assert.ok(outcome && "hold" in outcome && outcome.hold.reason === "AuthEnabledByHand");
    assert.equal(authReady(view)?.reason, "AuthEnabledByHand");
    // Whether Quorate enabled it, before spec.auth was removed, is not known any more.
    const auth = { ...done, users: [user("alice", { deleting: true })] };
    const busy = { ...view, observation: { ...view.observation, auth } };
    for (const one of [view, busy]) {
      assert.match(authReady(one)?.message ?? "", /spec\.auth is absent/);
      assert.doesNotMatch(authReady(one)?.message ?? "", /by hand/);
    }
  });
});
