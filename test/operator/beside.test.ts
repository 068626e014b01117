/**
 * Two installations beside each other: one for all namespaces but one, and one for that namespace, each with nothing
 * but the rights of its own service account. Neither locks the other out, and neither touches the other's clusters.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { EtcdCluster } from "../../src/api/etcd-cluster.ts";
import { API_VERSION } from "../../src/api/metadata.ts";
import { Client, isCode } from "../../testbed/client.ts";
import { eventually } from "../../testbed/eventually.ts";
import { upForTests, type TestTestbed } from "../../testbed/for-tests.ts";
import {
  applyAll,
  manifests,
  namespacedTo,
  operatorToken,
  OPERATOR,
  whenServed,
} from "../support/install.ts";
import { policyInForce } from "../support/member-policy.ts";
import { configOf } from "../support/kube-runtime.ts";
import { PATIENCE_MS, SMALL, startOperator, writes, type Running } from "../support/operator.ts";

const TEAM = "team-a";
const clustersIn = (namespace: string) => `/apis/${API_VERSION}/namespaces/${namespace}/etcdclusters`;
const membersIn = (namespace: string) => `/apis/${API_VERSION}/namespaces/${namespace}/etcdmembers`;

let bed: TestTestbed;
/** Service account → its token. */
const tokens: Record<string, string> = {};
let wide: Running;
let team: Running;

before(async () => {
  bed = await upForTests({ kubelet: "process" });
  await bed.client.create("/api/v1/namespaces", { metadata: { name: TEAM } });
  // The operators run beside the cluster here, as their service accounts.
  const withoutPods = (objects: ReturnType<typeof manifests>) =>
    objects.filter(({ kind }) => kind !== "Deployment");
  await applyAll(bed.client, withoutPods(manifests("install.yaml")));
  await applyAll(bed.client, withoutPods(namespacedTo(TEAM)));
  await whenServed(bed.client, clustersIn(TEAM), membersIn(TEAM));
  for (const namespace of [OPERATOR.namespace, TEAM])
    tokens[namespace] = await operatorToken(bed.client, namespace);
  for (const namespace of ["default", TEAM]) await policyInForce(bed.client, namespace);
  const as = (namespace: string) => ({
    config: configOf(bed, { token: { text: tokens[namespace] ?? "" } }),
    lease: { namespace, name: "quorate" },
  });
  wide = startOperator(bed, { ...as(OPERATOR.namespace), excludedNamespaces: [TEAM] });
  team = startOperator(bed, { ...as(TEAM), namespaces: [TEAM] });
});

after(async () => {
  await Promise.all([wide?.stop(), team?.stop()]);
  await bed?.down();
});

async function ready(namespace: string, name: string): Promise<EtcdCluster> {
  return await eventually(
    `${namespace}/${name} to be ready`,
    async () => {
      const cluster = await bed.client.get<EtcdCluster>(`${clustersIn(namespace)}/${name}`);
      const { conditions = [], message } = cluster.status ?? {};
      const found = conditions.find(({ type }) => type === "Ready");
      assert.equal(found?.status, "True", `${message}\n${[...wide.log, ...team.log].slice(-20).join("\n")}`);
      assert.equal(cluster.status?.observedGeneration, cluster.metadata.generation);
      return cluster;
    },
    { withinMs: PATIENCE_MS, everyMs: 200 },
  );
}

test("each installation makes the clusters of its own namespaces, and leaves the others alone", async () => {
  for (const [namespace, name] of [
    ["default", "ours"],
    [TEAM, "theirs"],
  ] as const) {
    const manifest = { apiVersion: API_VERSION, kind: "EtcdCluster", metadata: { name } };
    await bed.client.create(clustersIn(namespace), { ...manifest, spec: { ...SMALL, replicas: 1 } });
  }
  await Promise.all([ready("default", "ours"), ready(TEAM, "theirs")]);
  for (const [{ steps }, own] of [
    [wide, "ours"],
    [team, "theirs"],
  ] as const) {
    assert.ok(steps.some((step) => step.includes(own)));
    // `CreateMember ours-0`; a step without a member is about a cluster.
    assert.deepEqual(
      steps.filter((step) => step.includes(" ") && !step.includes(` ${own}`)),
      [],
    );
  }
  // Refused are only the reads that an installation for one namespace goes without.
  const refused = writes([...wide.calls, ...team.calls]).filter(({ status }) => status === 403);
  assert.deepEqual(refused, []);
});

test("both change EtcdMembers, and nobody else does", async () => {
  for (const [namespace, name, running] of [
    ["default", "ours", wide],
    [TEAM, "theirs", team],
  ] as const) {
    // A new option is a new record, then a new Pod.
    await bed.client.patch(`${clustersIn(namespace)}/${name}`, { spec: { options: { logLevel: "Warn" } } });
    await ready(namespace, name);
    assert.ok(
      running.steps.some((step) => step.startsWith("UpdateMember") && !step.includes("failed")),
      `${namespace}: ${running.steps.join(", ")}`,
    );
    const { items } = await bed.client.get<{ items: { metadata: { name: string } }[] }>(membersIn(namespace));
    await assert.rejects(
      bed.client.patch(`${membersIn(namespace)}/${items[0]?.metadata.name}`, { spec: { run: false } }),
      /is the operator's record of what runs/,
    );
  }
});

test("the account of one namespace is not an operator elsewhere", async () => {
  const { cert: _, key: __, ...access } = bed.access;
  const client = new Client({ ...access, token: tokens[TEAM] ?? "" });
  try {
    await assert.rejects(client.get(membersIn("default")), (error) => isCode(error, 403));
  } finally {
    client.close();
  }
});

test("an installation that follows namespaces of others leaves their clusters alone and tells so", async () => {
  const second = startOperator(bed, {
    config: configOf(bed, { token: { text: tokens[OPERATOR.namespace] ?? "" } }),
    lease: { namespace: OPERATOR.namespace, name: "second" },
  });
  try {
    await eventually("it has seen both clusters", () =>
      Promise.resolve(second.operator.clustersElsewhere === 2),
    );
    await bed.client.patch(`${clustersIn("default")}/ours`, { spec: { options: { logLevel: "Info" } } });
    await ready("default", "ours");
    assert.equal(second.steps.length, 0, second.steps.join());
    const touched = writes(second.calls).filter(({ resource }) => resource !== "events");
    assert.deepEqual(touched, []);
    assert.ok(second.log.some((line) => line.startsWith("warn Two installations of the operator follow")));
    await eventually("an Event says so", async () => {
      const path = "/apis/events.k8s.io/v1/namespaces/default/events";
      const { items } = await bed.client.get<{ items: { reason?: string; note?: string }[] }>(path);
      const told = items.find(({ reason }) => reason === "ManagedElsewhere");
      assert.match(told?.note ?? "", /quorate-system\/quorate manages this cluster/);
      return true;
    });
    // The first one is uninstalled: its clusters are not left alone for ever.
    await wide.stop();
    const renewTime = new Date(Date.now() - 120_000).toISOString().replace("Z", "000Z");
    await bed.client.patch(`/apis/coordination.k8s.io/v1/namespaces/${OPERATOR.namespace}/leases/quorate`, {
      spec: { renewTime },
    });
    await bed.client.patch(`${clustersIn("default")}/ours`, { spec: { options: { logLevel: "Warn" } } });
    await ready("default", "ours");
    assert.ok(
      second.steps.some((step) => step.startsWith("UpdateMember")),
      second.steps.join(", "),
    );
    assert.equal(second.operator.clustersElsewhere, 1);
  } finally {
    await second.stop();
  }
});
