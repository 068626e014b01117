/**
 * The installation on a real node, as a user does it: config/install.yaml as it is, the image from our own writer,
 * a sample cluster; then what may happen to either; then the Helm chart in its place. The tests follow each other.
 */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { Pod } from "kubernetes-types/core/v1.d.ts";
import { bundleInParts } from "../../../scripts/build/bundle.ts";
import { buildImage } from "../../../scripts/build/image.ts";
import type { EtcdCluster } from "../../../src/api/etcd-cluster.ts";
import { API_VERSION } from "../../../src/api/metadata.ts";
import { isCode } from "../../../testbed/client.ts";
import { eventually } from "../../../testbed/eventually.ts";
import { upForTests, type TestTestbed } from "../../../testbed/for-tests.ts";
import { loadArchive } from "../../../testbed/nodes/verbs.ts";
import { applyAll, manifests, OPERATOR, pathOf, sample, whenServed } from "../../support/install.ts";
import { CHART, Helm } from "../../support/helm.ts";
import { fetchAtHost } from "../../testbed/on-nodes/support.ts";

const ROOT = join(import.meta.dirname, "..", "..", "..");
const PATIENCE = { withinMs: 120_000 };
const THREE = `/apis/${API_VERSION}/namespaces/default/etcdclusters/three`;
const LEASE = `/apis/coordination.k8s.io/v1/namespaces/${OPERATOR.namespace}/leases/quorate`;

let bed: TestTestbed;
let folder: string;

const say = (t: { diagnostic(text: string): void }, what: string, since: number) =>
  t.diagnostic(`${what}: ${((Date.now() - since) / 1000).toFixed(1)} s`);

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "quorate-install-"));
  const [image] = await Promise.all([build(), upForTests({ nodes: 1 }).then((made) => (bed = made))]);
  await loadArchive(bed.name, image);
});

after(async () => {
  await bed?.down();
  rmSync(folder, { recursive: true, force: true });
});

/** Named as the Deployment names it. */
async function build(): Promise<string> {
  const parts = await bundleInParts(ROOT, join(folder, "app"));
  const deployment = manifests("install.yaml").find(({ kind }) => kind === "Deployment") as {
    spec?: { template: { spec: { containers: { image: string }[] } } };
  };
  const name = deployment.spec?.template.spec.containers[0]?.image ?? "";
  return (await buildImage(parts, folder, name, () => {})).path;
}

async function podsOf(namespace: string, selector: string): Promise<Pod[]> {
  const path = `/api/v1/namespaces/${namespace}/pods?labelSelector=${encodeURIComponent(selector)}`;
  return (await bed.client.get<{ items: Pod[] }>(path)).items;
}

const operators = () => podsOf(OPERATOR.namespace, "app.kubernetes.io/name=quorate");
const members = () => podsOf("default", "etcd.quorate.dev/cluster=three");
const isReady = ({ metadata, status }: Pod) =>
  metadata?.deletionTimestamp === undefined &&
  (status?.conditions?.some(({ type, status: value }) => type === "Ready" && value === "True") ?? false);

interface Conditioned {
  metadata: { generation?: number };
  status?: { observedGeneration?: number; conditions?: { type: string; status: string }[] };
}

/** As `kubectl wait --for=condition=Available` does it. */
async function isAvailable(path: string): Promise<boolean> {
  const { metadata, status } = await bed.client.get<Conditioned>(path);
  if ((status?.observedGeneration ?? 0) < (metadata.generation ?? 0)) return false;
  return status?.conditions?.some((one) => one.type === "Available" && one.status === "True") ?? false;
}

/** The name of the operator's Pod that holds the lease. */
async function leader(): Promise<string> {
  const { spec } = await bed.client.get<{ spec?: { holderIdentity?: string } }>(LEASE);
  return spec?.holderIdentity?.split("_")[0] ?? "";
}

async function metricsOf({ status }: Pod): Promise<(series: string) => number | undefined> {
  const text = await fetchAtHost(bed.name, `http://${status?.podIP}:8080/metrics`);
  return (series) => {
    const line = text.split("\n").find((one) => one.startsWith(`${series} `));
    return line === undefined ? undefined : Number(line.slice(series.length));
  };
}

test("the installation becomes available: two replicas, one of which leads", async (t) => {
  const started = Date.now();
  await applyAll(bed.client, manifests("install.yaml"));
  const deployment = manifests("install.yaml").find(({ kind }) => kind === "Deployment");
  assert.ok(deployment);
  await eventually("the operator to be available", () => isAvailable(pathOf(deployment)), PATIENCE);
  say(t, "available", started);
  await eventually(
    "two ready replicas",
    async () => (await operators()).filter(isReady).length === 2,
    PATIENCE,
  );
  await eventually("a leader", async () => (await operators()).some(nameIs(await leader())), PATIENCE);
  for (const pod of await operators()) {
    await eventually(
      `${pod.metadata?.name} says whether it leads`,
      async () => {
        const value = await metricsOf(pod);
        const leads = value("quorate_lease_held");
        assert.equal(leads, pod.metadata?.name === (await leader()) ? 1 : 0);
        t.diagnostic(`${pod.metadata?.name}: ${mb(value("process_resident_memory_bytes"))}, leads: ${leads}`);
        return true;
      },
      PATIENCE,
    );
    assert.equal(pod.status?.containerStatuses?.[0]?.restartCount, 0);
  }
});

const nameIs = (name: string) => (pod: Pod) => pod.metadata?.name === name;
const mb = (bytes = 0) => `${(bytes / 1e6).toFixed(0)} MB`;

test("the sample of three members becomes available, with three voters under one leader", async (t) => {
  await whenServed(bed.client, THREE.slice(0, THREE.lastIndexOf("/")));
  const started = Date.now();
  const three = sample("three-members");
  await bed.client.create(THREE.slice(0, THREE.lastIndexOf("/")), three);
  await eventually("the cluster to be available", () => isAvailable(THREE), PATIENCE);
  say(t, "available", started);
  await threeVoters();
  say(t, "three voters", started);
  const value = await leaderCounts('quorate_cluster_healthy_voters{namespace="default",cluster="three"}', 3);
  t.diagnostic(`the leader with one cluster: ${mb(value("process_resident_memory_bytes"))}`);
});

/** What the operator that leads counts is what it saw last; a member that answered too late counts at the next look. */
async function leaderCounts(series: string, count: number): Promise<(series: string) => number | undefined> {
  return await eventually(
    `${series} to be ${count}`,
    async () => {
      const value = await metricsOf((await operators()).filter(isReady).find(nameIs(await leader())) ?? {});
      assert.equal(value(series), count);
      return value;
    },
    PATIENCE,
  );
}

/** By the status and by each member's own word. */
async function threeVoters(): Promise<EtcdCluster> {
  return await eventually(
    "three healthy voters",
    async () => {
      const cluster = await bed.client.get<EtcdCluster>(THREE);
      const { members: seen = [], readyReplicas } = cluster.status ?? {};
      const roles = seen.map(({ role }) => role).toSorted();
      if (readyReplicas !== 3 || roles.join() !== "Follower,Follower,Leader") return false;
      const pods = (await members()).filter(isReady);
      if (pods.length !== 3) return false;
      for (const { status } of pods) {
        const text = await fetchAtHost(bed.name, `http://${status?.podIP}:2381/metrics`);
        if (!/^etcd_server_has_leader 1$/m.test(text) || !/^etcd_server_is_learner 0$/m.test(text))
          return false;
      }
      return cluster;
    },
    PATIENCE,
  );
}

test("the leader's Pod is deleted and comes back with the same member", async (t) => {
  const before = await threeVoters();
  const name = before.status?.leader ?? "";
  const [uid] = (await members()).filter(nameIs(name)).map(({ metadata }) => metadata?.uid);
  const started = Date.now();
  await bed.client.delete(`/api/v1/namespaces/default/pods/${name}`);
  await eventually(
    "another Pod of that name",
    async () =>
      (await members()).some((pod) => nameIs(name)(pod) && pod.metadata?.uid !== uid && isReady(pod)),
    PATIENCE,
  );
  const after = await threeVoters();
  say(t, "back", started);
  const ids = ({ status }: EtcdCluster) => status?.members?.map((one) => `${one.name} ${one.id}`);
  assert.deepEqual(ids(after), ids(before));
  assert.equal(after.status?.clusterID, before.status?.clusterID);
});

test("the operator that leads is deleted and another one takes over", async (t) => {
  const old = await leader();
  const started = Date.now();
  await bed.client.delete(`/api/v1/namespaces/${OPERATOR.namespace}/pods/${old}`);
  // The one that stood by, or the successor of the deleted one: whoever asks first.
  await eventually(
    "another leader",
    async () => {
      const holder = await leader();
      return holder !== "" && holder !== old;
    },
    PATIENCE,
  );
  say(t, "taken over", started);
  // It works, too: what is asked of the cluster now is done by the new one.
  await bed.client.patch(THREE, { spec: { pod: { labels: { seen: "yes" } } } });
  await eventually(
    "the new leader to label the Pods",
    async () => {
      const pods = await members();
      return pods.length === 3 && pods.every(({ metadata }) => metadata?.labels?.["seen"] === "yes");
    },
    PATIENCE,
  );
  await eventually(
    "two ready replicas again",
    async () => (await operators()).filter(isReady).length === 2,
    PATIENCE,
  );
});

test("a deleted cluster is gone with its Pods, and its volumes stay as the retention says", async (t) => {
  const started = Date.now();
  await bed.client.delete(THREE);
  await eventually(
    "the cluster to be gone",
    async () => {
      const gone = await bed.client.get(THREE).then(
        () => false,
        (error: unknown) => isCode(error, 404),
      );
      return gone && (await members()).length === 0;
    },
    PATIENCE,
  );
  say(t, "gone", started);
  const claims = await bed.client.get<{ items: unknown[] }>(
    "/api/v1/namespaces/default/persistentvolumeclaims",
  );
  assert.equal(claims.items.length, 3);
  await leaderCounts("quorate_clusters", 0);
  for (const pod of (await operators()).filter(isReady))
    assert.equal(pod.status?.containerStatuses?.[0]?.restartCount, 0);
});

test("the chart takes the place of the manifests, and its operator makes a cluster", async (t) => {
  const objects = manifests("install.yaml").filter(
    ({ kind }) => kind !== "CustomResourceDefinition" && kind !== "Namespace",
  );
  for (const object of objects.toReversed()) await bed.client.delete(pathOf(object));
  // A Pod that still ends has the lease, the labels and the room of its successor.
  await eventually(
    "the Pods of the former installation to be gone",
    async () => (await operators()).length === 0,
    PATIENCE,
  );
  const started = Date.now();
  using helm = await Helm.open(bed.kubeconfig);
  const where = ["--namespace", OPERATOR.namespace, "--wait"];
  await helm.run("install", "quorate", CHART, ...where, "--take-ownership");
  say(t, "installed", started);
  const clusters = THREE.slice(0, THREE.lastIndexOf("/"));
  const one = sample("one-member");
  await bed.client.create(clusters, one);
  const path = `${clusters}/${one.metadata.name}`;
  await eventually("the cluster to be available", () => isAvailable(path), PATIENCE);
  say(t, "with a cluster", started);
  await bed.client.delete(path);
  await eventually(
    "the cluster to be gone",
    () =>
      bed.client.get(path).then(
        () => false,
        (error: unknown) => isCode(error, 404),
      ),
    PATIENCE,
  );
  await helm.run("uninstall", "quorate", ...where);
  await eventually("the operators to be gone", async () => (await operators()).length === 0, PATIENCE);
  assert.ok(await bed.client.get(clusters), "the definitions stay");
});
