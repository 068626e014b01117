/**
 * Objects that somebody changed by hand or by another controller: labels, owners and finalizers taken away, fields with
 * two owners, names that are taken, marks that cannot be read. Nothing intact is removed for it, and only what is
 * concerned waits.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { API_VERSION } from "../../src/api/metadata.ts";
import { pods } from "../models/kube/kinds/pod.ts";
import { claims } from "../models/kube/kinds/claim.ts";
import { services } from "../models/kube/kinds/service.ts";
import { secrets } from "../models/kube/kinds/simple.ts";
import { json } from "../models/kube/object.ts";
import { refusal } from "../models/kube/refusal.ts";
import { etcdMembers, NAMESPACE } from "./environment.ts";
import { OperatorSimulation } from "./simulation.ts";

const THREE = { replicas: 3, version: "3.6.16" } as const;
const CORE = `/api/v1/namespaces/${NAMESPACE}`;
const OURS = `/apis/${API_VERSION}/namespaces/${NAMESPACE}`;
const NAMES = ["demo-1", "demo-2", "demo-3"];

async function settled(spec: object = {}): Promise<OperatorSimulation> {
  const sim = new OperatorSimulation({ ...THREE, ...spec }, { seed: 1 });
  await sim.settle();
  return sim;
}

function patch(sim: OperatorSimulation, path: string, metadata: object): void {
  const contentType = "application/merge-patch+json";
  assert.equal(sim.user({ method: "PATCH", path, body: { metadata }, contentType }).status, 200, path);
}

function remove(sim: OperatorSimulation, path: string): void {
  sim.harm();
  assert.equal(sim.user({ method: "DELETE", path }).status, 200, path);
}

const membersOf = (sim: OperatorSimulation) => sim.env.members().map(({ metadata }) => metadata.name);
const labelsOf = (sim: OperatorSimulation, kind: typeof claims) =>
  sim.env.server.list(kind).map(({ metadata }) => metadata.labels?.["etcd.quorate.dev/cluster"]);
const conditionOf = (sim: OperatorSimulation, type: string) =>
  sim.cluster?.status?.conditions?.find((one) => one.type === type);

async function keepsAll(sim: OperatorSimulation): Promise<void> {
  await sim.settle();
  assert.equal(sim.converged, true, sim.whyNot());
  assert.deepEqual(membersOf(sim), NAMES);
  assert.equal(sim.oracle.truth().healthy.size, 3);
  assert.equal(sim.env.server.list(claims).length, 3);
}

test("claims that were stripped of their labels get them back, and their members keep their data", async () => {
  const sim = await settled();
  for (const name of NAMES) patch(sim, `${CORE}/persistentvolumeclaims/data-${name}`, { labels: null });
  sim.harm();
  for (const name of NAMES) remove(sim, `${CORE}/pods/${name}`);
  await keepsAll(sim);
  assert.deepEqual(labelsOf(sim, claims), ["demo", "demo", "demo"]);
});

test("Pods in memory that were stripped of their labels are not lost data", async () => {
  const sim = await settled({
    storage: { medium: "Memory", size: "64Mi" },
    options: { quotaBackendBytes: "16Mi" },
  });
  for (const name of NAMES) patch(sim, `${CORE}/pods/${name}`, { labels: null });
  await sim.settle();
  assert.equal(sim.converged, true, sim.whyNot());
  assert.deepEqual(membersOf(sim), NAMES);
  assert.deepEqual(labelsOf(sim, pods), ["demo", "demo", "demo"]);
});

test("as long as the API server does not say whether a volume is gone, it is not", async () => {
  const sim = await settled();
  let on = true;
  sim.env.front.faults.plan(
    { kind: "answer", done: false, response: refusal(500, "InternalError", "etcdserver: no leader") },
    (_who, { method, path, query }) =>
      on &&
      method === "GET" &&
      path.endsWith("/persistentvolumeclaims") &&
      query?.["fieldSelector"] !== undefined,
    Number.POSITIVE_INFINITY,
  );
  patch(sim, `${CORE}/persistentvolumeclaims/data-demo-2`, { labels: null });
  remove(sim, `${CORE}/pods/demo-2`);
  await sim.pass(60_000);
  assert.deepEqual(membersOf(sim), NAMES);
  assert.equal(sim.oracle.truth().voters, 3);
  on = false;
  await keepsAll(sim);
});

test("a record keeps its member without its labels, its owner and its finalizer, and gets them back", async () => {
  const sim = await settled();
  patch(sim, `${OURS}/etcdmembers/demo-2`, { labels: null, ownerReferences: null, finalizers: null });
  await keepsAll(sim);
  const record = sim.env.server.list(etcdMembers).find(({ metadata }) => metadata.name === "demo-2");
  assert.equal(record?.metadata.labels?.["etcd.quorate.dev/cluster"], "demo");
  assert.equal(record?.metadata.ownerReferences?.[0]?.uid, sim.cluster?.metadata.uid);
  assert.deepEqual(record?.metadata.finalizers, ["etcd.quorate.dev/member"]);
});

test("a field that another manager insists on is written ever more seldom, and the status names the field", async () => {
  const sim = await settled();
  const path = `${CORE}/services/demo-client`;
  let reverted = 0;
  const insist = () => {
    sim.env.scheduler.after(5, insist);
    const service = sim.env.server.list(services).find(({ metadata }) => metadata.name === "demo-client");
    if (service?.metadata.labels?.["app.kubernetes.io/managed-by"] !== "quorate") return;
    reverted++;
    patch(sim, path, { labels: { "app.kubernetes.io/managed-by": "kyverno" } });
  };
  insist();
  await sim.pass(120_000);
  assert.ok(reverted >= 3 && reverted <= 12, `${reverted} writes in two minutes`);
  const { status, message = "" } = conditionOf(sim, "Degraded") ?? {};
  assert.equal(status, "True");
  assert.match(message, /keeps changing metadata\.labels\[app\.kubernetes\.io\/managed-by\]/);
  // Nothing else waits for it.
  remove(sim, `${CORE}/pods/demo-2`);
  await sim.pass(20_000);
  assert.equal(sim.oracle.truth().healthy.size, 3);
});

test("what another controller changes every three minutes is put right at once, and told from the third time on", async () => {
  const sim = await settled();
  const path = `${CORE}/services/demo-client`;
  const reportedEach: boolean[] = [];
  for (let resync = 0; resync < 5; resync++) {
    patch(sim, path, { labels: { "app.kubernetes.io/managed-by": "argocd" } });
    await sim.pass(10_000);
    const service = sim.env.server.list(services).find(({ metadata }) => metadata.name === "demo-client");
    assert.equal(service?.metadata.labels?.["app.kubernetes.io/managed-by"], "quorate");
    await sim.pass(170_000);
    reportedEach.push(
      conditionOf(sim, "Degraded")?.message?.includes("keeps changing metadata.labels") ?? false,
    );
  }
  assert.deepEqual(reportedEach, [false, false, true, true, true]);
  await sim.pass(240_000);
  assert.equal(conditionOf(sim, "Degraded")?.status, "False", "it has stopped");
});

/** Another controller that never gives in: within 5 ms of each change it does this again. */
function insist(sim: OperatorSimulation, again: () => void): void {
  sim.env.scheduler.after(5, () => {
    again();
    insist(sim, again);
  });
}

const secretOf = (sim: OperatorSimulation, name: string) =>
  sim.env.server.list(secrets).find(({ metadata }) => metadata.name === name);

function changeSecret(sim: OperatorSimulation, name: string, data: object): void {
  const path = `${CORE}/secrets/${name}`;
  const contentType = "application/merge-patch+json";
  assert.equal(sim.user({ method: "PATCH", path, body: { data }, contentType }).status, 200);
}

test("a file that another controller adds to a member's Secret is left there, and its Pod is made", async () => {
  const sim = await settled();
  let writes = 0;
  insist(sim, () => {
    if (json(secretOf(sim, "demo-2")?.data)["note"] !== undefined) return;
    writes++;
    changeSecret(sim, "demo-2", { note: "eA==" });
  });
  await sim.pass(120_000);
  assert.equal(writes, 1);
  assert.equal(conditionOf(sim, "Degraded")?.status, "False");
  remove(sim, `${CORE}/pods/demo-2`);
  await sim.pass(20_000);
  assert.equal(sim.oracle.truth().healthy.size, 3);
});

test("a Secret that is contested and good enough to start from keeps no Pod from being made, and is reported", async () => {
  const sim = await settled({ tls: { mode: "Disabled" } });
  insist(sim, () => {
    if (json(secretOf(sim, "demo-2")?.data)["peer-ca.crt"] === undefined)
      changeSecret(sim, "demo-2", { "peer-ca.crt": "eA==" });
  });
  await sim.pass(300_000);
  assert.match(conditionOf(sim, "Degraded")?.message ?? "", /Secret default\/demo-2: .* keeps changing/);
  remove(sim, `${CORE}/pods/demo-2`);
  await sim.pass(20_000);
  assert.equal(sim.oracle.truth().healthy.size, 3);
});

test("a Pod whose note is taken off is not touched again: it has its toleration once", async () => {
  const sim = await settled();
  const latched = "etcd.quorate.dev/latched";
  const podOf = () => sim.env.server.list(pods).find(({ metadata }) => metadata.name === "demo-2");
  let taken = 0;
  insist(sim, () => {
    if (podOf()?.metadata.annotations?.[latched] === undefined) return;
    taken++;
    patch(sim, `${CORE}/pods/demo-2`, { annotations: { [latched]: null } });
  });
  await sim.pass(60_000);
  assert.equal(taken, 1);
  assert.equal(JSON.stringify(podOf()?.spec).split(latched).length - 1, 1);
});

test("a budget or a Service of somebody else's under our name keeps no Pod from being made again", async () => {
  const sim = await settled();
  const budgets = `/apis/policy/v1/namespaces/${NAMESPACE}/poddisruptionbudgets`;
  for (const path of [`${budgets}/demo`, `${CORE}/services/demo-client`])
    patch(sim, path, { labels: null, ownerReferences: null });
  await sim.pass(5_000);
  remove(sim, `${CORE}/pods/demo-2`);
  await sim.pass(30_000);
  assert.equal(sim.oracle.truth().healthy.size, 3);
  assert.match(
    sim.cluster?.status?.message ?? "",
    /PodDisruptionBudget default\/demo.* do not belong to demo/,
  );
  assert.equal(sim.edit({ replicas: 5 }), true);
  await sim.pass(60_000);
  assert.equal(sim.oracle.truth().healthy.size, 5);
});

test("a Secret of somebody else's under a member's name stops only that member", async () => {
  const sim = await settled({ repair: { unhealthyAfter: "30s", memberLostAfter: "1m" } });
  patch(sim, `${CORE}/secrets/demo-2`, { ownerReferences: null });
  for (const name of ["demo-2", "demo-3"]) {
    remove(sim, `${CORE}/pods/${name}`);
    await sim.pass(30_000);
  }
  await sim.pass(120_000);
  assert.deepEqual(membersOf(sim), NAMES);
  assert.equal(sim.oracle.truth().healthy.size, 2);
  assert.match(sim.cluster?.status?.message ?? "", /Secret default\/demo-2 exists and/);
});

test("a mark that cannot be read stops neither healing nor deletion, and is reported", async () => {
  const sim = await settled();
  const path = `${OURS}/etcdclusters/demo`;
  patch(sim, path, { annotations: { "etcd.quorate.dev/replaced": "oops" } });
  remove(sim, `${CORE}/pods/demo-2`);
  await sim.pass(20_000);
  assert.equal(sim.oracle.truth().healthy.size, 3);
  assert.match(
    sim.cluster?.status?.message ?? "",
    /\[etcd\.quorate\.dev\/replaced\] cannot be read \(oops\)/,
  );
  sim.deleteCluster();
  await sim.pass(60_000);
  assert.equal(sim.isGone, true);
});

test("a cluster whose finalizer was taken off leaves nothing that runs, and all volumes", async () => {
  const sim = await settled();
  sim.deleteCluster();
  patch(sim, `${OURS}/etcdclusters/demo`, { finalizers: null });
  await sim.pass(120_000);
  assert.equal(sim.isGone, true);
  assert.deepEqual(membersOf(sim), []);
  assert.equal(sim.env.server.list(pods).length, 0);
  assert.equal(sim.env.server.list(claims).length, 3);
});

for (const which of [["demo-2"], NAMES])
  test(`a label that names another cluster makes no orphan of ${which.join(", ")}`, async () => {
    const sim = await settled();
    for (const name of which)
      patch(sim, `${OURS}/etcdmembers/${name}`, { labels: { "etcd.quorate.dev/cluster": "other" } });
    for (const name of which)
      assert.equal(sim.user({ method: "DELETE", path: `${OURS}/etcdmembers/${name}` }).status, 200);
    await sim.settle();
    assert.equal(sim.converged, true, sim.whyNot());
    // Replaced one at a time by their own cluster, as every record that somebody deletes.
    assert.equal(sim.oracle.truth().healthy.size, 3);
    for (const name of which) assert.ok(!membersOf(sim).includes(name), name);
  });

test("records of a predecessor that cannot be let go do not hold a new cluster up", async () => {
  const memory = {
    storage: { medium: "Memory", size: "512Mi" },
    options: { quotaBackendBytes: "16Mi" },
  } as const;
  const sim = await settled(memory);
  const response = refusal(403, "Forbidden", "admission webhook denied the request");
  sim.env.front.faults.plan(
    { kind: "answer", done: false, response },
    (_who, { method, path }) => method === "PATCH" && path.endsWith("/etcdmembers/demo-1"),
    Infinity,
  );
  sim.deleteCluster();
  patch(sim, `${OURS}/etcdclusters/demo`, { finalizers: null });
  await sim.pass(30_000);
  assert.equal(sim.isGone, true);
  assert.deepEqual(membersOf(sim), ["demo-1"], "the others are let go all the same");
  const body = {
    apiVersion: API_VERSION,
    kind: "EtcdCluster",
    metadata: { name: "demo", namespace: NAMESPACE },
    spec: { ...THREE, ...memory },
  };
  assert.equal(sim.user({ method: "POST", path: `${OURS}/etcdclusters`, body }).status, 201);
  await sim.pass(60_000);
  assert.equal(sim.converged, true, sim.whyNot());
  assert.equal(sim.oracle.truth().healthy.size, 3);
  assert.equal(membersOf(sim).length, 4, "three, and the one that cannot be let go");
  sim.env.front.faults.clear();
  await sim.pass(60_000);
  assert.deepEqual(membersOf(sim), ["demo-2", "demo-3", "demo-4"]);
  assert.equal(sim.oracle.truth().healthy.size, 3);
});

test("a Pod that waits for a bad image and lost its annotations is made anew when the edit is taken back", async () => {
  const sim = await settled({ replicas: 2 });
  sim.edit({ image: { repository: "nowhere.example/etcd" } });
  await sim.pass(5_000);
  patch(sim, `${CORE}/pods/demo-2`, { labels: null, annotations: null });
  await sim.pass(10_000);
  sim.edit({ image: { repository: null } });
  await sim.settle();
  assert.equal(sim.converged, true, sim.whyNot());
  assert.equal(sim.oracle.truth().healthy.size, 2);
});
