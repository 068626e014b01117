import assert from "node:assert/strict";
import { test } from "node:test";
import { specOf } from "../../core/testing/cluster.ts";
import type { Wish } from "../testing/rendered.ts";
import { kubernetesWarnings } from "./warnings.ts";

const paths = (wish: Wish) => kubernetesWarnings(specOf(wish), "demo").map(({ path }) => path);

test("an ordinary cluster has no warnings", () => {
  assert.deepEqual(paths({}), []);
});

test("each thing that is seldom meant is reported, with its field", () => {
  const cases: [Wish, string][] = [
    [{ storage: { medium: "HostPath", hostPath: "/data" } }, "spec.storage.medium"],
    [{ service: { type: "NodePort" } }, "spec.service.type"],
    [{ storage: { size: "256Mi" }, options: { quotaBackendBytes: "64Mi" } }, "spec.storage.size"],
    [{ replicas: 1 }, "spec.disruptionBudget.enabled"],
    [{ version: "3.6.13" }, "spec.version"],
    [
      { tls: { client: { mode: "Secrets", secrets: { server: "a", operator: "b", gateway: "c" } } } },
      "spec.tls.client",
    ],
    [
      { storage: { medium: "Memory", size: "4Gi" }, pod: { resources: { limits: { memory: "4Gi" } } } },
      "spec.pod.resources.limits.memory",
    ],
  ];
  for (const [wish, path] of cases) assert.deepEqual(paths(wish), [path], path);
});

test("a gateway that dials with the server's certificate is reported, where etcd could give it another one", () => {
  const told = (wish: Wish) => paths(wish).includes("spec.tls.client.secrets.gateway");
  const client = { mode: "Secrets", secrets: { server: "a", operator: "b" } } as const;
  assert.ok(told({ tls: { client } }));
  assert.ok(!told({ tls: { client, clientAuth: "None" } }));
  assert.ok(!told({ tls: { client }, version: "3.4.45" }));
});

test("a name that another cluster's Service may bear is reported, unless its own Service is switched off", () => {
  const told = (wish: Wish, name: string) => kubernetesWarnings(specOf(wish), name).map(({ path }) => path);
  assert.deepEqual(told({}, "a-client"), ["spec.service.clusterName"]);
  assert.deepEqual(told({ service: { clusterName: false } }, "a-client"), []);
});

test("a user that cannot write into the node's directories is reported", () => {
  const storage = { medium: "HostPath", hostPath: "/data" } as const;
  const security = (securityContext: NonNullable<Wish["pod"]>["securityContext"]) =>
    paths({ storage, pod: { securityContext } }).includes("spec.pod.securityContext");
  assert.ok(security({ runAsUser: 1000 }));
  assert.ok(security({}));
  assert.ok(!security({ runAsUser: 0 }));
});

test("what the other choice cures is not told", () => {
  for (const wish of [
    { service: { type: "NodePort" }, tls: { extraSANs: ["etcd.example.com"] } },
    { replicas: 1, disruptionBudget: { enabled: false } },
    { storage: { medium: "Memory", size: "4Gi" }, pod: { resources: { limits: { memory: "6Gi" } } } },
  ] satisfies Wish[])
    assert.deepEqual(paths(wish), [], JSON.stringify(wish));
});

test("that a CA signs for others too matters to the peers of an etcd that cannot check names", () => {
  const peer = { mode: "Secrets", secrets: { member: "a" } } as const;
  assert.deepEqual(paths({ tls: { peer } }), []);
  assert.ok(paths({ version: "3.5.14", tls: { peer } }).includes("spec.tls.peer"));
});
