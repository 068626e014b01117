/** The key of auth tokens on Kubernetes: in Secrets only, mounted into the Pod, replaced by an EtcdOperation. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { after, before, test } from "node:test";
import type { Secret } from "kubernetes-types/core/v1.d.ts";
import { API_VERSION } from "../../src/api/metadata.ts";
import { eventually } from "../../testbed/eventually.ts";
import type { TestTestbed } from "../../testbed/for-tests.ts";
import { PATHS } from "../support/kube-paths.ts";
import { assertNoLeakOnBed } from "../support/leaks.ts";
import { ClusterOnBed, startOperator, upWithDefinitions, type Running } from "../support/operator.ts";

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
