/** Users and roles on the real operator, with an etcd that refuses whoever lacks a right. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { API_VERSION } from "../../src/api/metadata.ts";
import { secrets } from "../models/kube/kinds/simple.ts";
import { ours } from "../models/kube/kinds/ours.ts";
import type { Kind } from "../models/kube/kind.ts";
import { json } from "../models/kube/object.ts";
import { NAME, NAMESPACE } from "./environment.ts";
import { give, GIVEN_TLS } from "./given-world.ts";
import { staysQuiet, wrongWith } from "./judge.ts";
import { Moves } from "./moves.ts";
import { OperatorSimulation } from "./simulation.ts";

const SPEC = { replicas: 3, version: "3.6.16" };
const ENABLED = { enabled: true, clientRoles: ["app"] };
const [users, roles] = ["EtcdUser", "EtcdRole"].map((name) => ours.find(({ kind }) => kind === name) as Kind);

function path(plural: string, name = ""): string {
  return `/apis/${API_VERSION}/namespaces/${NAMESPACE}/${plural}${name === "" ? "" : `/${name}`}`;
}

function create(sim: OperatorSimulation, kind: "EtcdUser" | "EtcdRole", name: string, spec: object): void {
  const metadata = { name, namespace: NAMESPACE };
  const body = { apiVersion: API_VERSION, kind, metadata, spec: { cluster: NAME, ...spec } };
  const plural = kind === "EtcdUser" ? "etcdusers" : "etcdroles";
  assert.equal(sim.user({ method: "POST", path: path(plural), body }).status, 201);
}

function secret(sim: OperatorSimulation, name: string, password: string): void {
  const data = { password: Buffer.from(password).toString("base64") };
  const body = { apiVersion: "v1", kind: "Secret", metadata: { name, namespace: NAMESPACE }, data };
  const answer = sim.user({ method: "POST", path: `/api/v1/namespaces/${NAMESPACE}/secrets`, body });
  assert.equal(answer.status, 201);
}

/** As the members have it. */
function authOf({ env }: OperatorSimulation) {
  const server = env.pods.server(`${NAME}-1`) ?? env.pods.server(`${NAME}-2`);
  assert.ok(server);
  return server.dir.state.auth;
}

function reasonOf({ env }: OperatorSimulation, kind: Kind | undefined, name: string): unknown {
  const object = kind && env.server.get(kind, `${NAMESPACE}/${name}`);
  return object && json(object["status"])["reason"];
}

function textIn({ env }: OperatorSimulation, name: string, file: string): string | undefined {
  const data = env.server.get(secrets, `${NAMESPACE}/${name}`)?.["data"];
  const encoded = data && json(data)[file];
  return typeof encoded === "string" ? Buffer.from(encoded, "base64").toString() : undefined;
}

function begun(options: { seed: number; operators?: number }): OperatorSimulation {
  const sim = new OperatorSimulation(SPEC, options);
  create(sim, "EtcdRole", "app", { permissions: [{ access: "ReadWrite", key: "app/", prefix: true }] });
  secret(sim, "carol-password", "secret");
  create(sim, "EtcdUser", "alice", { roles: ["app"] });
  create(sim, "EtcdUser", "carol", { roles: ["app"], passwordSecret: "carol-password" });
  return sim;
}

test("auth is enabled with its users, survives a scale-out and a restart of the operator, and is disabled again", async () => {
  const sim = begun({ seed: 41 });
  const moves = new Moves(sim);
  await sim.settle();
  assert.equal(reasonOf(sim, users, "alice"), "AuthDisabled");
  moves.perform({ do: "edit", change: { auth: ENABLED } });
  await sim.settle();
  const auth = authOf(sim);
  assert.ok(auth.enabled);
  assert.deepEqual(auth.users.get("alice")?.roles, ["app"]);
  assert.equal(auth.users.get("carol")?.password, "secret");
  assert.deepEqual(auth.users.get("quorate-operator")?.roles, ["root"]);
  assert.deepEqual(auth.users.get("quorate-user")?.roles, ["app"]);
  assert.equal(reasonOf(sim, users, "carol"), "Applied");
  assert.equal(reasonOf(sim, roles, "app"), "Applied");
  assert.ok(sim.env.server.get(secrets, `${NAMESPACE}/${NAME}-root`));
  await staysQuiet(sim);
  moves.perform({ do: "edit", change: { replicas: 5 } });
  await sim.settle();
  for (const { life } of sim.seats) life?.cut("killed");
  await sim.settle();
  assert.deepEqual(wrongWith(sim), []);
  moves.perform({ do: "edit", change: { auth: { enabled: false }, replicas: 3 } });
  await sim.settle();
  assert.equal(authOf(sim).enabled, false);
  assert.deepEqual(wrongWith(sim), []);
});

test("however often the operator dies, auth is enabled once everything is in place, and nobody is locked out", async () => {
  for (const seed of [42, 43]) {
    const sim = begun({ seed, operators: 2 });
    await sim.settle();
    new Moves(sim).perform({ do: "edit", change: { auth: ENABLED } });
    for (let deaths = 0; deaths < 10; deaths++) {
      await sim.pass(40 + 90 * deaths);
      for (const { life } of sim.seats.slice(0, 1)) life?.cut("killed");
    }
    await sim.settle();
    assert.ok(authOf(sim).enabled);
    assert.equal(reasonOf(sim, users, "alice"), "Applied");
    assert.ok(!sim.lines.some((line) => line.includes("RegainAccess")), "it never lost access");
    assert.deepEqual(wrongWith(sim), []);
  }
});

test("drift is put right within 30 seconds, and an operator whose user was deleted lets itself in again", async () => {
  const sim = begun({ seed: 44 });
  new Moves(sim).perform({ do: "edit", change: { auth: ENABLED } });
  await sim.settle();
  const server = sim.env.pods.server(`${NAME}-1`);
  assert.ok(server);
  const { calls } = sim.env;
  calls.auth(server, { do: "user-revoke", user: "alice", role: "app" });
  calls.auth(server, { do: "user-password", user: "carol", password: "changed by hand" });
  await sim.pass(30_000);
  assert.deepEqual(authOf(sim).users.get("alice")?.roles, ["app"]);
  assert.equal(authOf(sim).users.get("carol")?.password, "secret");
  calls.auth(server, { do: "user-delete", user: "quorate-operator" });
  await sim.pass(30_000);
  assert.deepEqual(authOf(sim).users.get("quorate-operator")?.roles, ["root"]);
  assert.ok(sim.lines.some((line) => line.includes("RegainAccess")));
  await sim.settle();
  assert.deepEqual(wrongWith(sim), []);
});

test("users and roles that are deleted are gone from etcd, in a safe order, and are let go without a cluster", async () => {
  const sim = begun({ seed: 45 });
  new Moves(sim).perform({ do: "edit", change: { auth: { enabled: true, clientRoles: [] } } });
  await sim.settle();
  assert.equal(sim.user({ method: "DELETE", path: path("etcdroles", "app") }).status, 200);
  await sim.settle();
  assert.equal(reasonOf(sim, roles, "app"), "InUse");
  for (const name of ["alice", "carol"])
    assert.equal(sim.user({ method: "DELETE", path: path("etcdusers", name) }).status, 200);
  await sim.settle();
  assert.deepEqual([...authOf(sim).roles.keys()], []);
  assert.ok(!authOf(sim).users.has("alice"));
  assert.equal(sim.env.server.list(users as Kind).length, 0);
  create(sim, "EtcdUser", "late", { roles: [] });
  await sim.settle();
  assert.equal(reasonOf(sim, users, "late"), "Applied");
  sim.user({ method: "DELETE", path: path("etcdclusters", NAME) });
  await sim.pass(60_000);
  assert.equal(reasonOf(sim, users, "late"), "ClusterNotFound");
  sim.user({ method: "DELETE", path: path("etcdusers", "late") });
  await sim.pass(20_000);
  assert.equal(sim.env.server.list(users as Kind).length, 0);
});

test("a wrong role and a missing password are told with the field, and leave etcd as it is", async () => {
  const sim = begun({ seed: 46 });
  new Moves(sim).perform({ do: "edit", change: { auth: ENABLED } });
  await sim.settle();
  create(sim, "EtcdUser", "wrong", { roles: ["no-such-role"] });
  sim.user({ method: "DELETE", path: `/api/v1/namespaces/${NAMESPACE}/secrets/carol-password` });
  await sim.pass(30_000);
  assert.equal(reasonOf(sim, users, "wrong"), "UnknownRole");
  assert.equal(reasonOf(sim, users, "carol"), "PasswordMissing");
  assert.ok(!authOf(sim).users.has("wrong"));
  assert.equal(authOf(sim).users.get("carol")?.password, "secret");
});

test("a user's own certificate is issued once it is in etcd, follows a CA rotation, and ends after the user", async () => {
  const sim = begun({ seed: 47 });
  const moves = new Moves(sim);
  create(sim, "EtcdUser", "orders", { roles: ["app"], certificate: {} });
  await sim.settle();
  assert.equal(textIn(sim, "orders-etcd-tls", "tls.crt"), undefined, "auth is not asked for");
  moves.perform({ do: "edit", change: { auth: ENABLED, tls: { rotation: { soak: "30s" } } } });
  await sim.settle();
  assert.equal(reasonOf(sim, users, "orders"), "Applied");
  const first = textIn(sim, "orders-etcd-tls", "tls.crt");
  const published = () => textIn(sim, `${NAME}-client-tls`, "ca.crt");
  assert.ok(first !== undefined && textIn(sim, "orders-etcd-tls", "tls.key"));
  assert.equal(textIn(sim, "orders-etcd-tls", "ca.crt"), published());
  await staysQuiet(sim);
  const before = published();
  moves.perform({ do: "operate", task: "rotateCertificates", all: true, pick: 0 });
  const certificates = () => published()?.split("BEGIN").length ?? 0;
  for (const count of [3, 2]) {
    for (let left = 200; certificates() !== count; left--) {
      assert.ok(left > 0, `ca.crt has ${count - 1} CAs`);
      await sim.pass(20_000);
    }
  }
  await sim.settle();
  assert.notEqual(published(), before);
  assert.equal(textIn(sim, "orders-etcd-tls", "ca.crt"), published());
  assert.notEqual(textIn(sim, "orders-etcd-tls", "tls.crt"), first);
  assert.deepEqual(wrongWith(sim), []);
  assert.equal(sim.user({ method: "DELETE", path: path("etcdusers", "orders") }).status, 200);
  for (let left = 300; textIn(sim, "orders-etcd-tls", "tls.crt") !== undefined; left--) {
    assert.ok(left > 0, "its Secret goes with it");
    await sim.pass(100);
  }
  assert.ok(!authOf(sim).users.has("orders"));
  await sim.settle();
  assert.deepEqual(wrongWith(sim), []);
});

test("a certificate cannot be issued into a Secret of another owner; the user is told, and the cluster serves", async () => {
  const sim = begun({ seed: 48 });
  secret(sim, "orders-etcd-tls", "not a certificate");
  create(sim, "EtcdUser", "orders", { roles: ["app"], certificate: {} });
  new Moves(sim).perform({ do: "edit", change: { auth: ENABLED } });
  await sim.pass(60_000);
  assert.equal(reasonOf(sim, users, "orders"), "CertificatePending");
  assert.ok(authOf(sim).users.has("orders"));
  assert.equal(textIn(sim, "orders-etcd-tls", "password"), "not a certificate");
  const at = `/api/v1/namespaces/${NAMESPACE}/secrets/orders-etcd-tls`;
  assert.equal(sim.user({ method: "DELETE", path: at }).status, 200);
  await sim.settle();
  assert.equal(reasonOf(sim, users, "orders"), "Applied");
  assert.ok(textIn(sim, "orders-etcd-tls", "tls.crt"));
  assert.deepEqual(wrongWith(sim), []);
});

test("where clients went from the user's Secrets to plaintext, the operator logs in by password", async () => {
  const transition = { proceed: "After", after: "5s" } as const;
  const client = { mode: "Secrets", ...GIVEN_TLS.client } as const;
  const sim = new OperatorSimulation({ ...SPEC, replicas: 1, tls: { client, transition } }, { seed: 49 });
  await give(sim, 1);
  await sim.settle();
  assert.ok(sim.edit({ tls: { transition, client: { mode: "Disabled", secrets: null } } }));
  await sim.settle();
  assert.ok(sim.edit({ auth: { enabled: true, clientRoles: [] } }));
  await sim.settle();
  assert.ok(authOf(sim).enabled);
  assert.deepEqual(wrongWith(sim), []);
});

test("what names are read from is not changed while auth is on", async () => {
  const sim = begun({ seed: 50 });
  await sim.settle();
  assert.ok(sim.edit({ auth: ENABLED }));
  await sim.settle();
  for (const tls of [{ clientAuth: "None" }, { client: { mode: "Disabled" } }, { mode: "Disabled" }])
    assert.equal(sim.edit({ tls }), false, JSON.stringify(tls));
  assert.equal(
    sim.edit({ auth: { enabled: false }, tls: { clientAuth: "None" } }),
    false,
    "not with it either",
  );
  assert.ok(sim.edit({ tls: { rotation: { soak: "30s" } } }));
  await sim.settle();
  assert.ok(authOf(sim).enabled);
  assert.deepEqual(wrongWith(sim), []);
});
