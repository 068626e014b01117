/** The Helm chart with real Helm: what it renders, what it rejects, and its life on a real API server. */
import assert from "node:assert/strict";
import { cpSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { API_VERSION } from "../../src/api/metadata.ts";
import { Client, isCode } from "../../testbed/client.ts";
import { eventually } from "../../testbed/eventually.ts";
import { upForTests, type TestTestbed } from "../../testbed/for-tests.ts";
import { CHART, Helm, refusalOf } from "../support/helm.ts";
import { manifests, operatorToken, pathOf, whenServed, type Manifest } from "../support/install.ts";
import { policyInForce, tryRecord } from "../support/member-policy.ts";

const CRD = "CustomResourceDefinition";
const CLUSTERS_CRD = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/etcdclusters.etcd.quorate.dev";

let bed: TestTestbed;
let helm: Helm;
let folder: string;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "quorate-chart-"));
  bed = await upForTests();
  helm = await Helm.open(bed.kubeconfig);
});

after(async () => {
  helm?.[Symbol.dispose]();
  await bed?.down();
  rmSync(folder, { recursive: true, force: true });
});

const byPath = (objects: readonly Manifest[]) =>
  new Map(
    objects.map((object) => [pathOf(object), object] as const).toSorted(([a], [b]) => (a < b ? -1 : 1)),
  );

/** Without what only Helm reads. */
function plain(object: Manifest): Manifest {
  if (object.kind !== CRD) return object;
  const { annotations, ...metadata } = object.metadata as Manifest["metadata"] & { annotations?: object };
  assert.deepEqual(annotations, { "helm.sh/resource-policy": "keep" });
  return { ...object, metadata };
}

const ofKind = (objects: readonly Manifest[], kind: string) => objects.filter((one) => one.kind === kind);

test("helm lint finds nothing", async () => {
  assert.match(await helm.run("lint", "--strict", CHART), /1 chart\(s\) linted, 0 chart\(s\) failed/);
});

test("with the default values the chart has the objects of config/install.yaml, but for the Namespace", async () => {
  const rendered = (await helm.template()).map(plain);
  const expected = manifests("install.yaml").filter(({ kind }) => kind !== "Namespace");
  assert.deepEqual(byPath(rendered), byPath(expected));
});

test("for chosen namespaces it has the rights of config/install-namespaced.yaml in each, and none for the whole cluster", async () => {
  const set = ["--set", "watch.namespaces={etcd,team-a},crds.install=false,priorityClass.create=false"];
  const rendered = await helm.template(...set);
  const wide = rendered.filter(({ metadata }) => metadata.namespace === undefined).map(({ kind }) => kind);
  assert.deepEqual([...new Set(wide)].toSorted(), [
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
  ]);
  const expected = manifests("install-namespaced.yaml");
  for (const kind of ["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"])
    for (const object of ofKind(expected, kind))
      assert.deepEqual(byPath(rendered).get(pathOf(object)), object);
  const rules = (objects: readonly Manifest[], namespace: string, name: string) =>
    (
      ofKind(objects, "Role").find(
        (one) => one.metadata.namespace === namespace && one.metadata.name === name,
      ) as (Manifest & { rules: object[] }) | undefined
    )?.rules ?? [];
  const whole = rules(expected, "etcd", "quorate");
  assert.ok(whole.length > 0);
  for (const namespace of ["etcd", "team-a"])
    assert.deepEqual(
      [...rules(rendered, namespace, "quorate"), ...rules(rendered, "quorate-system", "quorate-lease")],
      whole,
    );
  const args = JSON.stringify(ofKind(rendered, "Deployment"));
  assert.match(args, /"operator","--namespace=etcd,team-a"/);
  const reads = await helm.template(...set, "--set", "rbac.clusterReads=true");
  const [role] = ofKind(reads, "ClusterRole") as (Manifest & { rules: { resources: string[] }[] })[];
  assert.deepEqual(role?.rules.flatMap(({ resources }) => resources).toSorted(), ["nodes", "storageclasses"]);
});

test("with rbac.clusterRole it has the role of config/install-chosen.yaml, bound in each namespace", async () => {
  const set =
    "watch.namespaces={etcd,team-a},rbac.clusterRole=true,crds.install=false,priorityClass.create=false";
  const rendered = byPath(await helm.template("--set", set));
  const expected = manifests("install-chosen.yaml").filter(({ kind }) =>
    ["ClusterRole", "RoleBinding", "Role"].includes(kind),
  );
  assert.ok(expected.length >= 7);
  for (const object of expected) assert.deepEqual(rendered.get(pathOf(object)), object);
  const base = "/apis/rbac.authorization.k8s.io/v1/namespaces";
  assert.ok(rendered.has(`${base}/team-a/rolebindings/quorate-namespaced`));
  assert.ok(!rendered.has(`${base}/team-a/roles/quorate`));
  assert.ok([...rendered.values()].every(({ kind }) => kind !== "ClusterRoleBinding"));
});

test("the policies for tenants and for secure defaults follow their values", async () => {
  type Binding = Manifest & { spec: { validationActions: string[]; matchResources?: object } };
  const render = async (...values: string[]) => {
    const objects = await helm.template(...values.flatMap((value) => ["--set", value]));
    const bindings = ofKind(objects, "ValidatingAdmissionPolicyBinding") as Binding[];
    const named = (aspect: string) =>
      bindings.filter(({ metadata }) => metadata.name.includes(`-${aspect}.`));
    return { text: JSON.stringify(objects), tenants: named("tenants"), secure: named("secure") };
  };
  const warned = await render(
    "admissionPolicies.tenants=Warn",
    "admissionPolicies.secureDefaults=All",
    "etcdImageRepository=mirror.example/etcd",
    "admissionPolicies.imageRepositories={registry.example:5000/etcd}",
  );
  assert.ok(warned.tenants.length >= 4);
  for (const { spec } of warned.tenants) assert.deepEqual(spec.validationActions, ["Warn"]);
  assert.deepEqual(
    warned.secure.map(({ spec }) => spec.matchResources),
    [undefined],
  );
  const list = "['gcr.io/etcd-development/etcd', 'mirror.example/etcd', 'registry.example:5000/etcd']";
  assert.ok(warned.text.includes(`repository in ${list}`));
  const own = await render("watch.namespaces={team-a}", "admissionPolicies.secureDefaults=All");
  const matchLabels = { "kubernetes.io/metadata.name": "team-a" };
  assert.deepEqual(
    own.secure.map(({ spec }) => spec.matchResources),
    [{ namespaceSelector: { matchLabels } }],
  );
  const without = await render(
    "admissionPolicies.tenants=Disabled",
    "admissionPolicies.secureDefaults=Disabled",
  );
  assert.deepEqual([...without.tenants, ...without.secure], []);
});

test("with metrics.secure it has the roles of config/metrics-secure.yaml, and the options for them", async () => {
  const rendered = await helm.template("--set", "metrics.secure=true,metrics.certificateSecret=metrics-tls");
  for (const object of manifests("metrics-secure.yaml"))
    assert.deepEqual(byPath(rendered).get(pathOf(object)), object);
  const seen = JSON.stringify(ofKind(rendered, "Deployment"));
  for (const part of [
    '"--metrics-secure","--metrics-certificates=/etc/quorate/metrics"',
    '"volumes":[{"name":"metrics-certificates","secret":{"secretName":"metrics-tls"}}]',
    '"volumeMounts":[{"mountPath":"/etc/quorate/metrics","name":"metrics-certificates","readOnly":true}]',
    '"prometheus.io/scheme":"https"',
  ])
    assert.ok(seen.includes(part), `${part} in ${seen}`);
});

test("every value reaches the objects", async () => {
  const digest = `sha256:${"a".repeat(64)}`;
  const values = {
    image: { repository: "registry.example/quorate", digest, pullSecrets: [{ name: "pull" }] },
    fullnameOverride: "second",
    replicas: 3,
    watch: { excludedNamespaces: ["team-a"] },
    serviceAccount: { annotations: { "example.com/role": "etcd" } },
    clusterDomain: "example.internal",
    etcdImageRepository: "registry.example/etcd",
    logLevel: "debug",
    extraArgs: ["--metrics-address=:9090"],
    extraEnv: [{ name: "HTTPS_PROXY", value: "http://proxy:3128" }],
    resources: { limits: { memory: "512Mi" } },
    podSecurityContext: { runAsUser: null },
    podAnnotations: { a: "1" },
    podLabels: { b: "2" },
    nodeSelector: { disk: "ssd" },
    affinity: { nodeAffinity: {} },
    tolerations: [],
    priorityClass: { create: false, name: "system-cluster-critical" },
    disruptionBudget: { enabled: false },
    metricsService: { annotations: { c: "3" } },
    networkPolicy: { enabled: true, metricsFrom: [{ podSelector: {} }] },
    admissionPolicies: { enabled: false },
    crds: { keep: false },
  };
  const file = join(folder, "values.json");
  writeFileSync(file, JSON.stringify(values));
  const objects = await helm.template("-f", file);
  const [deployment] = ofKind(objects, "Deployment") as (Manifest & {
    spec: { replicas: number; template: { metadata: object; spec: Record<string, unknown> } };
  })[];
  assert.equal(deployment?.metadata.name, "second");
  assert.equal(deployment.spec.replicas, 3);
  const { metadata, spec } = deployment.spec.template;
  const seen = JSON.stringify({ metadata, spec });
  for (const part of [
    `"image":"registry.example/quorate@${digest}"`,
    '"imagePullSecrets":[{"name":"pull"}]',
    '"args":["operator","--exclude-namespace=team-a","--lease-name=second","--cluster-domain=example.internal","--etcd-image-repository=registry.example/etcd","--log-level=debug","--metrics-address=:9090"]',
    '{"name":"HTTPS_PROXY","value":"http://proxy:3128"}',
    '"memory":"512Mi"',
    '"priorityClassName":"system-cluster-critical"',
    '"nodeSelector":{"disk":"ssd"}',
    '"affinity":{"nodeAffinity":{}}',
    '"a":"1"',
    '"b":"2"',
    '"serviceAccountName":"second"',
  ])
    assert.ok(seen.includes(part), `${part} in ${seen}`);
  assert.ok(!("tolerations" in spec));
  assert.ok(!("runAsUser" in (spec["securityContext"] as object)));
  const kinds = new Set(objects.map(({ kind }) => kind));
  for (const absent of ["PodDisruptionBudget", "ValidatingAdmissionPolicy", "PriorityClass"])
    assert.ok(!kinds.has(absent), absent);
  assert.ok(kinds.has("NetworkPolicy"));
  assert.ok(ofKind(objects, CRD).every(({ metadata: one }) => !("annotations" in one)));
  assert.ok(
    objects.every(({ metadata: { name } }) => !name.startsWith("quorate")),
    "all named after it",
  );
});

const WRONG: readonly [values: string, says: RegExp][] = [
  ["replica=3", /Additional property replica is not allowed/],
  ["replicas=two", /replicas: Invalid type\. Expected: integer, given: string/],
  ["image.digest=sha256:1", /image\.digest: Does not match pattern/],
  ["image.pullPolicy=Sometimes", /image\.pullPolicy must be one of the following/],
  ["admissionPolicies.tenants=Off", /admissionPolicies\.tenants must be one of the following/],
  ["metrics.certificateSecret=tls", /metrics\.certificateSecret: only with metrics\.secure=true/],
  ["watch.namespaces={Team A}", /watch\.namespaces\.0: Does not match pattern/],
  ["extraArgs={verbose}", /extraArgs\.0: Does not match pattern/],
  [
    "watch.namespaces={a},watch.excludedNamespaces={b}",
    /watch\.excludedNamespaces: only while watch\.namespaces is empty/,
  ],
];

for (const [values, says] of WRONG)
  test(`--set ${values} is rejected, naming the value`, async () => {
    assert.match(await refusalOf(helm.template("--set", values)), says);
  });

test("it is installed, upgraded with a changed definition, and uninstalled without deleting a cluster", async () => {
  const release = ["quorate", CHART, "--namespace", "quorate-system"];
  await helm.run("install", ...release, "--create-namespace");
  for (const object of await helm.template()) assert.ok(await bed.client.get(pathOf(object)));
  const clusters = `/apis/${API_VERSION}/namespaces/default/etcdclusters`;
  await whenServed(bed.client, clusters);
  const spec = { version: "3.6.16", storage: { size: "1Gi" } };
  const metadata = { name: "kept" };
  await bed.client.create(clusters, { apiVersion: API_VERSION, kind: "EtcdCluster", metadata, spec });
  await onlyTheOperatorRecords("quorate-system");

  const newer = join(folder, "newer");
  cpSync(CHART, newer, { recursive: true });
  // A link within is copied as a link, and would lead to the definitions of the repository.
  rmSync(join(newer, "definitions"), { recursive: true });
  cpSync(realpathSync(join(CHART, "definitions")), join(newer, "definitions"), { recursive: true });
  const file = join(newer, "definitions/etcd.quorate.dev_etcdclusters.yaml");
  const text = readFileSync(file, "utf8");
  const changed = text.replace(/^(\s*shortNames:\n)/m, "$1      - ecnew\n");
  assert.notEqual(changed, text);
  writeFileSync(file, changed);
  await helm.run("upgrade", "quorate", newer, "--namespace", "quorate-system", "--set", "replicas=1");
  interface Definition {
    spec?: { names: { shortNames: string[] } };
  }
  const definition = await bed.client.get<Definition>(CLUSTERS_CRD);
  assert.ok(definition.spec?.names.shortNames.includes("ecnew"), "the definition follows helm upgrade");
  const deployment = "/apis/apps/v1/namespaces/quorate-system/deployments/quorate";
  assert.equal((await bed.client.get<{ spec?: { replicas: number } }>(deployment)).spec?.replicas, 1);

  await helm.run("uninstall", "quorate", "--namespace", "quorate-system");
  await assert.rejects(bed.client.get(deployment), (error) => isCode(error, 404));
  assert.ok(await bed.client.get(`${clusters}/kept`), "the definitions stay, and with them every cluster");
  // The next installation takes over the definitions that were kept.
  await helm.run("install", ...release);
  await helm.run("uninstall", "quorate", "--namespace", "quorate-system");
});

test("a second release for one namespace is installed beside one for the others, and removed alone", async () => {
  await bed.client.create("/api/v1/namespaces", { metadata: { name: "team-a" } });
  const all = [
    "quorate",
    CHART,
    "--namespace",
    "quorate-system",
    "--set",
    "watch.excludedNamespaces={team-a}",
  ];
  await helm.run("install", ...all);
  const own = "watch.namespaces={team-a},crds.install=false,priorityClass.create=false";
  await helm.run("install", "quorate", CHART, "--namespace", "team-a", "--set", own);
  await onlyTheOperatorRecords("quorate-system");
  await onlyTheOperatorRecords("team-a", "team-a");
  await helm.run("uninstall", "quorate", "--namespace", "team-a");
  await onlyTheOperatorRecords("quorate-system");
});

/** The account of the installation may write EtcdMembers in `namespace`, and an administrator may not. */
async function onlyTheOperatorRecords(installation: string, namespace = "default"): Promise<void> {
  await policyInForce(bed.client, namespace);
  const { cert: _, key: __, ...access } = bed.access;
  const operator = new Client({ ...access, token: await operatorToken(bed.client, installation) });
  try {
    await eventually("the operator to be let through", async () => {
      assert.equal(await tryRecord(operator, namespace), "");
      return true;
    });
  } finally {
    operator.close();
  }
}
