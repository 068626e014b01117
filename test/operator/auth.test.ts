/**
 * Authentication on Kubernetes: the key of auth tokens, in Secrets only, mounted into the Pod, replaced by an
 * EtcdOperation; and EtcdUsers that cannot be applied as they are, or not any more.
 */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { after, before, test } from "node:test";
import type { Secret } from "kubernetes-types/core/v1.d.ts";
import type { EtcdUser } from "../../src/api/etcd-user.ts";
import { API_VERSION } from "../../src/api/metadata.ts";
import { EtcdClient } from "../../src/etcd/client.ts";
import { GrpcTransport } from "../../src/etcd/grpc/transport.ts";
import type { TlsCredentials } from "../../src/etcd/types.ts";
import { createPki } from "../../src/pki/issue.ts";
import { clientLeaf } from "../../src/pki/plan.ts";
import { systemClock } from "../../src/seams/clock.ts";
import { systemRandom } from "../../src/seams/random.ts";
import { eventually } from "../../testbed/eventually.ts";
import type { TestTestbed } from "../../testbed/for-tests.ts";
import { putSecret, secretFiles } from "../support/bed-secrets.ts";
import { PATHS } from "../support/kube-paths.ts";
import { assertNoLeakOnBed } from "../support/leaks.ts";
import { ClusterOnBed, startOperator, upWithDefinitions, type Running } from "../support/operator.ts";
import { passwordOf } from "../support/passwords.ts";

const pki = createPki(systemClock, systemRandom);

let bed: TestTestbed;
let running: Running;
let cluster: ClusterOnBed;

before(async () => {
  bed = await upWithDefinitions();
  running = startOperator(bed);
  cluster = new ClusterOnBed(bed, "demo", running);
});

after(async () => {
  await cluster?.close();
  await running?.stop();
  await bed?.down();
});

test("members sign tokens with a key that is in Secrets only, and an operation replaces it", async () => {
  const secret = async (name: string) => await bed.client.get<Secret>(`${PATHS.secrets}/${name}`);
  const files = ({ data }: Secret) => Object.keys(data ?? {});
  const text = ({ data }: Secret, file: string) => Buffer.from(data?.[file] ?? "", "base64").toString();
  await cluster.create({
    replicas: 1,
    auth: { enabled: true, clientRoles: [], token: { type: "JWT", ttl: "1m" } },
  });
  await cluster.converged(1);
  const [keys, member] = [await secret("demo-auth-token"), await secret("demo-1")];
  assert.deepEqual(files(keys), ["auth-token-1.key"]);
  const key = text(keys, "auth-token-1.key");
  assert.match(key, /^[0-9a-f]{96}$/);
  assert.equal(text(member, "auth-token-1.key"), key);
  const config = "jwt,priv-key=/etc/etcd/auth-token-1.key,sign-method=HS256,ttl=60s";
  assert.ok(text(member, "etcd.json").includes(config));
  const [pod] = await cluster.pods();
  assert.ok(pod?.spec?.volumes?.some((volume) => volume.secret?.secretName === "demo-1"));
  assert.ok(!JSON.stringify(pod).includes(key));

  await bed.client.create(PATHS.operations, {
    apiVersion: API_VERSION,
    kind: "EtcdOperation",
    metadata: { name: "another-key" },
    spec: { cluster: "demo", rotateCertificates: { tokenKey: true } },
  });
  await eventually(
    "the key was replaced",
    async () => files(await secret("demo-auth-token")).join() === "auth-token-2.key",
    { withinMs: 90_000 },
  );
  await cluster.converged(1);
  const after = await secret("demo-1");
  assert.deepEqual(
    files(after).filter((file) => file.startsWith("auth-token")),
    ["auth-token-2.key"],
  );
  assert.notEqual(text(after, "auth-token-2.key"), key);
  await cluster.ask("report", { collectReport: {} });
  await cluster.operationIs("report", "Succeeded");
  await assertNoLeakOnBed(bed, running, "demo");
});

const apply = (kind: "EtcdRole" | "EtcdUser", name: string, spec: object) =>
  bed.client.create(kind === "EtcdUser" ? PATHS.users : PATHS.roles, {
    apiVersion: API_VERSION,
    kind,
    metadata: { name },
    spec: { cluster: "demo", ...spec },
  } as object);

/** Its condition and the message of its status; `says` is what the message has to name. */
async function isTold(user: string, reason: string, says: RegExp): Promise<void> {
  const isSo = async () => {
    const { status } = await bed.client.get<EtcdUser>(`${PATHS.users}/${user}`);
    const ready = status?.conditions?.find(({ type }) => type === "Ready");
    assert.deepEqual([ready?.status, ready?.reason], [reason === "Applied" ? "True" : "False", reason]);
    assert.match(ready?.message ?? "", says);
    return true;
  };
  await eventually(`${user} is ${reason}`, isSo, { withinMs: 90_000 });
}

test("a role that does not exist and a password Secret that is deleted are told with their field; etcd and members stay as they are", async () => {
  await putSecret(bed, "reader-password", { password: passwordOf("reader") }, { cluster: "demo" });
  await apply("EtcdRole", "reader", { permissions: [{ access: "Read", key: "", prefix: true }] });
  await apply("EtcdUser", "reader", { roles: ["reader"], passwordSecret: "reader-password" });
  await isTold("reader", "Applied", /./);
  const seen = async () => (await cluster.pods()).map(({ metadata }) => metadata?.uid);
  const before = await seen();

  await apply("EtcdUser", "hopeful", { roles: ["reader", "no-such-role"] });
  await apply("EtcdUser", "secretive", { roles: ["reader"], passwordSecret: "no-such-secret" });
  await isTold("hopeful", "UnknownRole", /^spec\.roles: .*no-such-role/);
  await isTold("secretive", "PasswordMissing", /^spec\.passwordSecret: .*no-such-secret/);
  await bed.client.delete(`${PATHS.secrets}/reader-password`);
  await isTold("reader", "PasswordMissing", /^spec\.passwordSecret: .*reader-password/);

  const transport = new GrpcTransport({ clock: systemClock, tls: await rootCertificate() });
  try {
    const { auth } = new EtcdClient({ transport, clock: systemClock, endpoints: await cluster.endpoints() });
    const users = await auth.userList();
    assert.ok(users.includes("reader"), users.join());
    assert.ok(!users.includes("hopeful") && !users.includes("secretive"), users.join());
    assert.deepEqual(await auth.userGet("reader"), ["reader"]);
    // Its password still opens etcd.
    assert.ok(await auth.authenticate("reader", passwordOf("reader")));
  } finally {
    await transport.close();
  }
  assert.deepEqual(await seen(), before, "no member was restarted");
  await cluster.converged(1);
  assert.match(await cluster.condition("AuthReady"), /^True\//);
});

/** Of the client CA, as `certificate issue` makes one. */
async function rootCertificate(): Promise<TlsCredentials> {
  const text = await secretFiles(bed, "demo-client-ca");
  const ca = { certificate: text("tls.crt"), key: text("tls.key") };
  const { certificate, key } = await pki.issueLeaf({ ca, leaf: clientLeaf("root") });
  return { ca: text("ca.crt"), cert: certificate, key };
}
