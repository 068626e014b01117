/** With auth on, the name in the operator's own certificate is who it is to etcd: another one would lock it out. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import { API_VERSION } from "../../src/api/metadata.ts";
import { ours } from "../models/kube/kinds/ours.ts";
import { secrets } from "../models/kube/kinds/simple.ts";
import { json } from "../models/kube/object.ts";
import { NAME, NAMESPACE } from "./environment.ts";
import { givenWorld, issued, NAMES, put } from "./given-world.ts";
import { wrongWith } from "./judge.ts";

/** A cluster whose operator is user `op` by the certificate of Secret `op`. */
async function world(seed: number) {
  const given = await givenWorld({ rotation: { soak: "30s" } }, seed);
  const { sim, pki, ca, issue, tls } = given;
  for (const name of Object.keys(NAMES)) put(sim, name, await issue(name));
  await sim.settle();
  return {
    sim,
    another: async () => await pki.issueCa({ commonName: "Another company", lifeMs: 86_400_000_000 }),
    issue,
    enable: async (enabled: boolean) => {
      assert.ok(sim.edit({ auth: { enabled, clientRoles: [] } }));
      await sim.settle();
    },
    rename: async (name: string, by = ca) => {
      const files = await issued(pki, name, by);
      put(sim, "op", files);
      await sim.pass(60_000);
      return files["tls.crt"];
    },
    inUse: () => {
      const data = sim.env.server.get(secrets, `${NAMESPACE}/${NAME}-operator`)?.["data"];
      return Buffer.from(String(data && json(data)["tls.crt"]), "base64").toString();
    },
    member: () => {
      const server = sim.env.pods.server(`${NAME}-1`);
      assert.ok(server);
      return server;
    },
    reported: () => ({ reason: tls()?.reason, message: tls()?.message ?? "" }),
  };
}

const REFUSED =
  /^spec\.tls\.client\.secrets\.operator: Secret \S+\/op, tls\.crt: the certificate has the common name op-b\b.* op\b/;

test("a certificate of another name is not used by the operator while auth is on, and the previous one serves", async () => {
  const { sim, enable, rename, inUse, member, reported } = await world(61);
  await enable(true);
  const { auth } = member().dir.state;
  assert.ok(auth.enabled);
  assert.deepEqual(auth.users.get("op")?.roles, ["root"]);
  const before = inUse();
  await rename("op-b");
  assert.equal(inUse(), before, "etcd knows the name of this one");
  assert.equal(reported().reason, "CertificateInvalid", reported().message);
  assert.match(reported().message, REFUSED);
  assert.ok(sim.edit({ auth: { enabled: true, clientRoles: ["root"] } }), "admin calls still work");
  await sim.pass(60_000);
  assert.deepEqual(member().dir.state.auth.users.get("quorate-user")?.roles, ["root"]);
  const renewed = await rename("op");
  assert.equal(inUse(), renewed);
  await sim.settle();
  assert.deepEqual(wrongWith(sim), []);
});

test("another operator finds the same, and another CA does not help such a certificate in", async () => {
  const { sim, enable, issue, another, rename, inUse, reported } = await world(62);
  await enable(true);
  const before = inUse();
  const next = await another();
  for (const name of ["web", "peers"]) put(sim, name, await issue(name, next));
  await rename("op-b", next);
  for (const { life } of sim.seats) life?.cut("killed");
  await sim.pass(120_000);
  assert.equal(inUse(), before);
  assert.equal(reported().reason, "CertificateInvalid", reported().message);
  assert.match(reported().message, REFUSED);
  const renewed = await rename("op", next);
  await sim.pass(300_000);
  assert.equal(inUse(), renewed);
  await sim.settle();
  assert.deepEqual(wrongWith(sim), []);
});

test("a name that etcd knows as a user with the role root is taken over, and so is any while auth is off", async () => {
  const { sim, enable, rename, inUse, member } = await world(63);
  const early = await rename("op-a");
  assert.equal(inUse(), early, "before auth, every certificate may do everything");
  await enable(true);
  const { calls } = sim.env;
  calls.auth(member(), { do: "user-add", user: "op-b", password: "their own" });
  calls.auth(member(), { do: "user-grant", user: "op-b", role: "root" });
  await sim.pass(60_000);
  const renamed = await rename("op-b");
  assert.equal(inUse(), renamed);
  await sim.settle();
  const nameless = await rename("");
  assert.equal(inUse(), nameless, "it logs in by password");
  await sim.settle();
  assert.deepEqual(wrongWith(sim), []);
  await enable(false);
  const late = await rename("op-c");
  assert.equal(inUse(), late);
  await sim.settle();
  assert.deepEqual(wrongWith(sim), []);
});

test("an EtcdUser of the operator's own name takes nothing from it, whatever that name is", async () => {
  const { sim, enable, member } = await world(64);
  await enable(true);
  const body = {
    apiVersion: API_VERSION,
    kind: "EtcdUser",
    metadata: { name: "op", namespace: NAMESPACE },
    spec: { cluster: NAME, roles: [] },
  };
  const path = `/apis/${API_VERSION}/namespaces/${NAMESPACE}/etcdusers`;
  assert.equal(sim.user({ method: "POST", path, body }).status, 201);
  await sim.pass(60_000);
  assert.deepEqual(member().dir.state.auth.users.get("op")?.roles, ["root"]);
  const users = ours.find(({ kind }) => kind === "EtcdUser");
  const object = users && sim.env.server.get(users, `${NAMESPACE}/op`);
  assert.equal(json(object?.["status"])["reason"], "NameTaken");
  assert.equal(sim.user({ method: "DELETE", path: `${path}/op` }).status, 200);
  await sim.pass(60_000);
  assert.deepEqual(member().dir.state.auth.users.get("op")?.roles, ["root"]);
  await sim.settle();
  assert.deepEqual(wrongWith(sim), []);
});
