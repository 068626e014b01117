/**
 * The operator with nothing but the rights that config/install.yaml gives it, through the whole life of a cluster:
 * no call is refused, and no right is left over.
 */
import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { EtcdCluster } from "../../src/api/etcd-cluster.ts";
import type { EtcdSnapshotSchedule } from "../../src/api/etcd-snapshot-schedule.ts";
import type { EtcdSnapshot } from "../../src/api/etcd-snapshot.ts";
import type { EtcdUser } from "../../src/api/etcd-user.ts";
import { exampleMember } from "../../src/api/member-examples.ts";
import { API_VERSION } from "../../src/api/metadata.ts";
import { CLUSTER_WIDE, LEASE, NAMESPACED } from "../../src/operator/process/permissions.ts";
import { isCode, type KubeObject } from "../../testbed/client.ts";
import { eventually } from "../../testbed/eventually.ts";
import { upForTests, type TestTestbed } from "../../testbed/for-tests.ts";
import { kubeconfigText } from "../../testbed/kubeconfig.ts";
import { freePorts } from "../support/free-ports.ts";
import { applyAll, manifests, operatorToken, OPERATOR, sample, whenServed } from "../support/install.ts";
import { policyInForce, tryRecord } from "../support/member-policy.ts";
import { memberPlace, POLICIES, untilAdmits } from "../support/network-policy.ts";

const CLUSTERS = `/apis/${API_VERSION}/namespaces/default/etcdclusters`;
const MEMBERS = `/apis/${API_VERSION}/namespaces/default/etcdmembers`;
const CORE = "/api/v1/namespaces/default";
const THREE = `${CLUSTERS}/three`;
const PATIENCE = { withinMs: 90_000 };

let bed: TestTestbed;
let folder: string;
let operator: ChildProcess;
let metricsPort: number;
let healthPort: number;
let log = "";

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "quorate-rights-"));
  bed = await upForTests({ kubelet: "process" });
  // The operator runs beside the cluster here, as its service account.
  const objects = manifests("install.yaml").filter(({ kind }) => kind !== "Deployment");
  await applyAll(bed.client, objects);
  await whenServed(bed.client, CLUSTERS, MEMBERS);
  operator = await startOperator(OPERATOR.namespace);
});

/** As the service account of this namespace, with further arguments. */
async function startOperator(namespace: string, ...args: string[]): Promise<ChildProcess> {
  const { cert: _, key: __, ...access } = bed.access;
  const kubeconfig = join(folder, `kubeconfig-${namespace}`);
  const token = await operatorToken(bed.client, namespace);
  writeFileSync(kubeconfig, kubeconfigText("operator", { ...access, token }), { mode: 0o600 });
  [metricsPort = 0, healthPort = 0] = await freePorts(2);
  const own = [
    "operator",
    "--image",
    "quorate.invalid/quorate:dev",
    "--kubeconfig",
    kubeconfig,
    "--lease-namespace",
    namespace,
    ...args,
  ];
  const metrics = ["--metrics-address", `127.0.0.1:${metricsPort}`];
  const health = ["--health-address", `127.0.0.1:${healthPort}`];
  const main = join(import.meta.dirname, "..", "..", "src", "cli", "main.ts");
  const child = spawn(process.execPath, [main, ...own, ...metrics, ...health], {
    stdio: ["ignore", "ignore", "pipe"],
    env: { ...process.env, POD_NAMESPACE: namespace, POD_APP_NAME: "quorate" },
  });
  child.stderr.on("data", (chunk) => (log += String(chunk)));
  return child;
}

after(async () => {
  if (operator?.exitCode === null) {
    operator.kill("SIGTERM");
    await once(operator, "exit");
  }
  await bed?.down();
  rmSync(folder, { recursive: true, force: true });
});

async function asked(port: number, path: string): Promise<{ status: number; body: string }> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`);
  return { status: response.status, body: await response.text() };
}

/** Healthy members of each kind, and nothing more to be done. */
const settled = (voters: number, learners = 0) =>
  eventually(
    `${voters} voters and ${learners} learners`,
    async () => {
      assert.equal(operator.exitCode, null, log);
      const { status, metadata } = await bed.client.get<EtcdCluster>(THREE);
      const { members = [], conditions = [], observedGeneration, message = "" } = status ?? {};
      const seen = `${members.map(({ name, role, healthy }) => `${name} ${role} ${healthy}`).join(", ")}; ${message}`;
      const isVoter = ({ role }: { role: string }) => role === "Leader" || role === "Follower";
      const count = (filter: (member: (typeof members)[number]) => boolean) => members.filter(filter).length;
      assert.equal(observedGeneration, metadata.generation, seen);
      assert.deepEqual([count(isVoter), count(({ role }) => role === "Learner")], [voters, learners], seen);
      assert.ok(members.length === voters + learners && members.every(({ healthy }) => healthy), seen);
      assert.equal(conditions.find(({ type }) => type === "Ready")?.status, "True", seen);
      return true;
    },
    PATIENCE,
  );

const edit = (spec: object) => bed.client.patch(THREE, { spec });
const exists = (path: string) =>
  bed.client.get(path).then(
    () => true,
    (error: unknown) => (isCode(error, 404) ? false : Promise.reject(error as Error)),
  );

test("it is ready as soon as its caches are in step", async () => {
  await eventually("it to be ready", async () => (await asked(healthPort, "/readyz")).status === 200);
  assert.equal((await asked(healthPort, "/healthz")).status, 200);
});

test("it makes a cluster", async () => {
  const three = sample("three-members") as KubeObject & { spec?: object };
  const storage = { size: "5Gi", retention: { onDelete: "Delete", onScaleIn: "Delete" } };
  await bed.client.create(CLUSTERS, { ...three, spec: { ...three.spec, storage } });
  await settled(3);
});

test("it brings a Pod back, and replaces a member whose record was deleted", async () => {
  const { status } = await bed.client.get<EtcdCluster>(THREE);
  const [first, second] = status?.members?.map(({ name }) => name) ?? [];
  const { metadata } = await bed.client.get(`${CORE}/pods/${first}`);
  await bed.client.delete(`${CORE}/pods/${first}`);
  await eventually(
    "another Pod",
    async () => (await bed.client.get(`${CORE}/pods/${first}`)).metadata?.uid !== metadata?.uid,
    PATIENCE,
  );
  await settled(3);
  await bed.client.delete(`${MEMBERS}/${second}`);
  await eventually("the record to be gone", async () => !(await exists(`${MEMBERS}/${second}`)), PATIENCE);
  await settled(3);
});

test("it scales, adds a learner and takes it away again, with what belongs to it", async () => {
  await edit({ learners: 1 });
  await settled(3, 1);
  await edit({ learners: 0 });
  await settled(3);
  await edit({ replicas: 1 });
  await settled(1);
});

test("it carries out an operation, and deletes it when its time is over", async () => {
  const operations = CLUSTERS.replace(/etcdclusters$/, "etcdoperations");
  const spec = { cluster: "three", compact: { retain: 0 }, ttlSecondsAfterFinished: 1 };
  const metadata = { name: "once" };
  await bed.client.create(operations, { apiVersion: API_VERSION, kind: "EtcdOperation", metadata, spec });
  await eventually("it to be gone", async () => !(await exists(`${operations}/once`)), PATIENCE);
});

test("it makes the Job of a snapshot, with a service account for it", async () => {
  const snapshots = CLUSTERS.replace(/etcdclusters$/, "etcdsnapshots");
  const spec = { cluster: "three", destination: { s3: { bucket: "backups" } } };
  const metadata = { name: "once" };
  await bed.client.create(snapshots, { apiVersion: API_VERSION, kind: "EtcdSnapshot", metadata, spec });
  const job = await eventually(
    "its Job is named in its status",
    async () => (await bed.client.get<EtcdSnapshot>(`${snapshots}/once`)).status?.job,
    PATIENCE,
  );
  const path = `/apis/batch/v1/namespaces/default/jobs/${job}`;
  await eventually("its Job exists", async () => await exists(path), PATIENCE);
  await bed.client.delete(`${snapshots}/once`);
  const schedules = CLUSTERS.replace(/etcdclusters$/, "etcdsnapshotschedules");
  const yearly = { ...spec, schedule: "@yearly" };
  await bed.client.create(schedules, {
    apiVersion: API_VERSION,
    kind: "EtcdSnapshotSchedule",
    metadata: { name: "yearly" },
    spec: yearly,
  });
  await eventually(
    "the next time of a schedule is told",
    async () => (await bed.client.get<EtcdSnapshotSchedule>(`${schedules}/yearly`)).status?.next,
    PATIENCE,
  );
  await bed.client.delete(`${schedules}/yearly`);
});

test("it enables auth with a user and a role, and takes them away again", async () => {
  const [users, roles] = ["etcdusers", "etcdroles"].map((plural) =>
    CLUSTERS.replace(/etcdclusters$/, plural),
  );
  const metadata = { name: "reader" };
  const permissions = [{ access: "Read", key: "a" }];
  await bed.client.create(`${roles}`, {
    apiVersion: API_VERSION,
    kind: "EtcdRole",
    metadata,
    spec: { cluster: "three", permissions },
  });
  await bed.client.create(`${users}`, {
    apiVersion: API_VERSION,
    kind: "EtcdUser",
    metadata,
    spec: { cluster: "three", roles: ["reader"] },
  });
  await edit({ auth: { enabled: true, clientRoles: ["root"] } });
  const isApplied = async () => {
    const { status } = await bed.client.get<EtcdUser>(`${users}/reader`);
    assert.equal(status?.reason, "Applied", status?.message);
    return true;
  };
  await eventually("the user to be applied", isApplied, PATIENCE);
  await settled(1);
  await Promise.all([users, roles].map((path) => bed.client.delete(`${path}/reader`)));
  for (const path of [users, roles])
    await eventually("it to be gone", async () => !(await exists(`${path}/reader`)), PATIENCE);
});

test("it changes what can be changed in place, and takes the budget away", async () => {
  await edit({
    pod: { labels: { colour: "blue" }, resources: { requests: { cpu: "120m", memory: "256Mi" } } },
    service: { labels: { colour: "blue" } },
    disruptionBudget: { enabled: false },
  });
  const budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";
  await eventually(
    "the change to be made",
    async () => {
      const { items } = await bed.client.get<{ items: KubeObject[] }>(
        `${CORE}/pods?labelSelector=colour%3Dblue`,
      );
      const left = await bed.client.get<{ items: unknown[] }>(budgets);
      return items.length === 1 && left.items.length === 0;
    },
    PATIENCE,
  );
  await settled(1);
});

test("it applies, changes and deletes a NetworkPolicy that lets in the members, itself, and who is listed", async () => {
  const to = await memberPlace(bed.client, "three");
  const shop = { namespace: "default", labels: { app: "shop" } };
  const labels = { "app.kubernetes.io/name": "quorate", "app.kubernetes.io/component": "operator" };
  const own = { namespace: OPERATOR.namespace, labels };
  const lets = (client: boolean, metrics: boolean) =>
    untilAdmits(bed.client, { cluster: "three", to }, [
      [to, 2380, true],
      ...[2379, 2380, 2381].map((port) => [own, port, true] as const),
      [shop, 2379, client],
      [shop, 2380, false],
      [shop, 2381, metrics],
    ]);
  const podSelector = { matchLabels: { app: "shop" }, matchExpressions: [] };
  const ipBlock = { cidr: "192.0.2.0/24", except: [] };
  await edit({ networkPolicy: { enabled: true, clients: [] } });
  await lets(false, false);
  await edit({ networkPolicy: { clients: [{ podSelector }, { ipBlock }] } });
  await lets(true, false);
  await edit({ networkPolicy: { metrics: [{ namespaceSelector: {}, podSelector }] } });
  await lets(true, true);
  await settled(1);
  const sent = async () =>
    (await calls()).reduce(
      (sum, { verb, resource, count }) =>
        sum + (resource === "networkpolicies" && verb !== "watch" ? count : 0),
      0,
    );
  const before = await sent();
  await edit({ metadata: { annotations: { "example.com/note": "x" } } });
  await settled(1);
  await edit({ networkPolicy: { enabled: false } });
  await eventually("the policy to be gone", async () => !(await exists(`${POLICIES}/three`)), PATIENCE);
  assert.equal((await sent()) - before, 2, "one for the annotation, one to delete it");
  await edit({ networkPolicy: null, metadata: null });
  await settled(1);
});

test("it deletes the cluster, with its volumes where the retention says so", async (t) => {
  const started = Date.now();
  const say = (what: string) => t.diagnostic(`${what}: ${((Date.now() - started) / 1000).toFixed(1)} s`);
  await bed.client.delete(THREE);
  await eventually("the cluster to be gone", async () => !(await exists(THREE)), PATIENCE);
  say("gone");
  for (const kind of ["pods", "persistentvolumeclaims", "secrets", "services"]) {
    await eventually(
      `no ${kind}`,
      async () => {
        const { items } = await bed.client.get<{ items: KubeObject[] }>(`${CORE}/${kind}`);
        return items.filter(({ metadata }) => metadata?.name?.includes("three")).length === 0;
      },
      PATIENCE,
    );
    say(`no ${kind}`);
  }
});

interface Calls {
  verb: string;
  resource: string;
  code: string;
  count: number;
}

/** What it asked of the API server, by its own count. */
async function calls(): Promise<Calls[]> {
  const { body } = await asked(metricsPort, "/metrics");
  const series = /^quorate_api_calls_total\{verb="(\w+)",resource="(\w+)",code="(\w+)"\} (\d+)$/gm;
  return [...body.matchAll(series)].map(([, verb = "", resource = "", code = "", count]) => ({
    verb,
    resource,
    code,
    count: Number(count),
  }));
}

const refusals = async () => (await calls()).filter(({ code }) => code === "403" || code === "401");

test("no call of it was refused, and each of its rights was used", async () => {
  const made = await calls();
  assert.ok(made.length > 20);
  assert.deepEqual(await refusals(), [], log);
  // An apply is a patch; a status is counted with its object.
  const used = new Set(made.map(({ verb, resource }) => `${verb === "apply" ? "patch" : verb} ${resource}`));
  const wanted = [...NAMESPACED, ...CLUSTER_WIDE, ...LEASE].flatMap(({ resource, verbs }) =>
    verbs.map((verb) => `${verb} ${resource.split("/")[0]}`),
  );
  // Where the server lists by watching, lists are rare; a controller needs both to be sure.
  const unused = wanted.filter((right) => !used.has(right) && !right.startsWith("list "));
  assert.deepEqual(unused, []);
});

test("told to stop, it hands its lease over and ends well", async () => {
  operator.kill("SIGTERM");
  await once(operator, "exit");
  assert.equal(operator.exitCode, 0, log);
  const lease = `/apis/coordination.k8s.io/v1/namespaces/${OPERATOR.namespace}/leases/quorate`;
  const { spec } = await bed.client.get<{ spec?: { holderIdentity?: string } }>(lease);
  assert.equal(spec?.holderIdentity ?? "", "");
});

test("with a Role for one namespace it works there beside the other installation, without nodes and storage classes", async () => {
  await bed.client.create("/api/v1/namespaces", { metadata: { name: "etcd" } });
  const objects = manifests("install-namespaced.yaml").filter(({ kind }) => kind !== "Deployment");
  await applyAll(bed.client, objects);
  // The policies of both installations are in force, and let either operator record its members.
  await eventually(
    "both policies to be in force",
    async () => {
      const members = MEMBERS.replace("/default/", "/etcd/");
      const refused = await bed.client.create(`${members}?dryRun=All`, exampleMember()).then(
        () => "",
        (error: unknown) => (error as Error).message,
      );
      return refused.includes("etcd.etcdmembers.") || refused.includes("'etcdmembers.");
    },
    PATIENCE,
  );
  operator = await startOperator("etcd", "--namespace", "etcd");
  const clusters = CLUSTERS.replace("/default/", "/etcd/");
  await bed.client.create(clusters, sample("one-member"));
  await eventually(
    "the cluster to be available",
    async () => {
      assert.equal(operator.exitCode, null, log);
      const { status } = await bed.client.get<EtcdCluster>(`${clusters}/one`);
      return status?.conditions?.some((one) => one.type === "Available" && one.status === "True");
    },
    PATIENCE,
  );
  const refused = await refusals();
  assert.deepEqual([...new Set(refused.map(({ resource }) => resource))].toSorted(), [
    "nodes",
    "persistentvolumes",
    "storageclasses",
  ]);
  assert.ok(
    refused.every(({ count }) => count === 1),
    "asked once, and not again and again",
  );
});

test("the policy of that installation protects EtcdMembers there with no other one in force", async () => {
  const bindings = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings";
  const isBinding = ({ kind }: KubeObject) => kind === "ValidatingAdmissionPolicyBinding";
  for (const { metadata } of manifests("install.yaml").filter(isBinding))
    await bed.client.delete(`${bindings}/${metadata.name}`);
  await eventually(
    "the policies of the whole cluster to be out of force",
    async () => (await tryRecord(bed.client, "default")) === "",
    PATIENCE,
  );
  await policyInForce(bed.client, "etcd");
});
