/** config/install.yaml and the samples on a real API server, and the admission policy for EtcdMembers. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { exampleMember } from "../../src/api/member-examples.ts";
import { API_VERSION } from "../../src/api/metadata.ts";
import { exampleOperation } from "../../src/api/operation-examples.ts";
import { parseCluster } from "../../src/api/parse-cluster.ts";
import type { DESTRUCTIVE_OPERATIONS } from "../../src/api/status-words.ts";
import { dispatch } from "../../src/cli/dispatch.ts";
import { EXIT } from "../../src/cli/exit.ts";
import { collectingIo } from "../../src/cli/testing.ts";
import { verbs } from "../../src/cli/verbs.ts";
import { LABELS } from "../../src/operator/names.ts";
import { judgeKubernetes, serverVersion } from "../../src/operator/process/kubernetes-version.ts";
import { Client, isCode } from "../../testbed/client.ts";
import { eventually } from "../../testbed/eventually.ts";
import { upForTests, type TestTestbed } from "../../testbed/for-tests.ts";
import {
  applyAll,
  manifests,
  operatorToken,
  pathOf,
  sample,
  samples,
  whenServed,
} from "../support/install.ts";
import { kubeconfigText } from "../../testbed/kubeconfig.ts";
import { refusal, userWith } from "../support/users.ts";
import { clientOn, configOf, transportTo } from "../support/kube-runtime.ts";

const OURS = `/apis/${API_VERSION}/namespaces/default`;
let bed: TestTestbed;
/** The operator's service account. */
let operator: Client;

before(async () => {
  bed = await upForTests();
  await applyAll(bed.client, manifests("install.yaml"));
  await whenServed(
    bed.client,
    ...["etcdclusters", "etcdmembers", "etcdoperations", "etcdsnapshots", "etcdsnapshotschedules"].map(
      (plural) => `${OURS}/${plural}`,
    ),
  );
  const { cert: _, key: __, ...access } = bed.access;
  operator = new Client({ ...access, token: await operatorToken(bed.client) });
});

after(async () => {
  operator?.close();
  await bed?.down();
});

test("the installation is accepted as it is, and a second time changes nothing", async () => {
  const objects = manifests("install.yaml");
  const versions = async () =>
    await Promise.all(
      objects.map(async (object) => {
        const { metadata } = await bed.client.get(pathOf(object));
        return `${object.kind} ${metadata?.name} ${metadata?.generation ?? metadata?.resourceVersion}`;
      }),
    );
  const before = await versions();
  await applyAll(bed.client, objects);
  assert.deepEqual(await versions(), before);
});

test("the variant for one namespace is accepted there, and has no rights outside it", async () => {
  const objects = manifests("install-namespaced.yaml");
  await bed.client.create("/api/v1/namespaces", { metadata: { name: "etcd" } });
  await applyAll(bed.client, objects);
  const wide = objects.filter(({ metadata }) => metadata.namespace !== "etcd").map(({ kind }) => kind);
  assert.deepEqual([...new Set(wide)], ["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"]);
});

for (const name of samples()) {
  test(`the sample ${name} is accepted by the server, and means the same to us`, async () => {
    const cluster = sample(name);
    const path = `${OURS}/etcdclusters?dryRun=All&fieldValidation=Strict`;
    const { spec } = await bed.client.create<typeof cluster & { spec?: unknown }>(path, cluster);
    const parsed = parseCluster(cluster);
    assert.ok(parsed.ok, JSON.stringify(parsed));
    // The operator's own default, which the server does not fill in.
    const { repository: _ofOperator, ...image } = parsed.cluster.spec.image;
    assert.deepEqual(spec, JSON.parse(JSON.stringify({ ...parsed.cluster.spec, image })));
  });
}

test("nobody but the operator makes or changes an EtcdMember; deleting one stays allowed", async () => {
  const member = exampleMember() as { metadata: { name: string }; spec: Record<string, unknown> };
  const { name } = member.metadata;
  const path = `${OURS}/etcdmembers`;
  // A policy takes effect a moment after it is accepted.
  const refused = await eventually("the policy to be in force", () =>
    refusal(bed.client.create(`${path}?dryRun=All`, member)),
  );
  assert.match(refused, /403.*EtcdMembers are made by the operator\. Change spec\.replicas/);
  await operator.create(path, member);
  assert.match(
    await refusal(bed.client.patch(`${path}/${name}`, { spec: { run: false } })),
    new RegExp(`EtcdMember ${name} is the operator's record .*kubectl delete etcdmember ${name}`),
  );
  const fence = { "etcd.quorate.dev/fence": "true" };
  await bed.client.patch(`${path}/${name}`, { metadata: { labels: { mine: "yes" }, annotations: fence } });
  const owner = {
    apiVersion: "v1",
    kind: "ConfigMap",
    name: "none",
    uid: "11111111-2222-3333-4444-555555555555",
  };
  await assert.rejects(
    bed.client.patch(`${path}/${name}`, { metadata: { ownerReferences: [owner] } }),
    (error) => isCode(error, 403) && /operator's record of what runs/.test(String(error)),
  );
  await operator.patch(`${path}/${name}`, { spec: { run: false } });
  await bed.client.delete(`${path}/${name}`);
  await assert.rejects(bed.client.get(`${path}/${name}`), (error) => isCode(error, 404));
});

test("the operator's account may do nothing but what it is for", async () => {
  const attempts = [
    () => operator.get("/api/v1/namespaces/kube-system/configmaps"),
    () => operator.create("/api/v1/namespaces/default/pods/x/exec", {}),
    () => operator.create("/api/v1/namespaces/default/serviceaccounts/default/token", {}),
    () => operator.delete("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler"),
    () => operator.patch(`${OURS}/etcdclusters/none/scale`, { spec: { replicas: 1 } }),
  ];
  for (const attempt of attempts) await assert.rejects(attempt, (error) => isCode(error, 403));
});

test("Kubernetes' own roles cover our kinds: view reads, edit changes clusters, admin also deletes members", async () => {
  const users = {
    view: await userWith(bed, "viewer", "view"),
    edit: await userWith(bed, "editor", "edit"),
    admin: await userWith(bed, "administrator", "admin"),
  };
  try {
    const cluster = sample("one-member");
    const clusters = `${OURS}/etcdclusters`;
    const dry = `${clusters}?dryRun=All`;
    const member = `${OURS}/etcdmembers/none`;
    // Roles are put together a moment after a part of them is accepted.
    for (const user of Object.values(users))
      await eventually("the role to cover our kinds", async () => (await refusal(user.get(clusters))) === "");
    await assert.rejects(users.view.create(dry, cluster), (error) => isCode(error, 403));
    await eventually(
      "edit to cover them",
      async () => (await refusal(users.edit.create(dry, cluster))) === "",
    );
    await assert.rejects(users.edit.delete(member), (error) => isCode(error, 403));
    await eventually("admin to cover them", async () => (await refusal(users.admin.delete(member))) === "");
    const operations = `${OURS}/etcdoperations?dryRun=All`;
    const harmless = exampleOperation({ restart: {} });
    await assert.rejects(users.view.create(operations, harmless), (error) => isCode(error, 403));
    assert.equal(await refusal(users.edit.create(operations, harmless)), "");
    const approve = "0123456789abcdef";
    const destructive = {
      replaceMember: { name: "demo-1" },
      recoverQuorum: { approve },
      restore: { source: { s3: { bucket: "backups", key: "demo.db" } }, approve },
    } satisfies Record<(typeof DESTRUCTIVE_OPERATIONS)[number], object>;
    for (const [name, spec] of Object.entries(destructive)) {
      const operation = exampleOperation({ [name]: spec });
      // A policy takes effect a moment after it is accepted.
      const refused = await eventually("the policy to be in force", () =>
        refusal(users.edit.create(operations, operation)),
      );
      assert.match(
        refused,
        new RegExp(`403.*\\(${name}\\) deletes data .* needs the verb destroy .*namespace default`),
      );
      assert.match(
        refused,
        /the role admin .* grants; system:serviceaccount:default:editor does not have it/,
      );
      assert.equal(await refusal(users.admin.create(operations, operation)), "");
    }
    await commandTellsThePolicy(users.edit);
    await assert.rejects(users.admin.create(`${OURS}/etcdmembers?dryRun=All`, exampleMember()), (error) =>
      isCode(error, 403),
    );
  } finally {
    for (const user of Object.values(users)) user.close();
  }
});

/** `kubectl auth can-i create etcdoperations` would say yes. */
async function commandTellsThePolicy(editor: Client): Promise<void> {
  const cluster = await bed.client.create(`${OURS}/etcdclusters`, {
    ...sample("one-member"),
    metadata: { name: "demo" } as { name: string; uid?: string },
  });
  const record = exampleMember();
  const labels = { [LABELS.cluster]: "demo", [LABELS.clusterUID]: cluster.metadata.uid ?? "" };
  await operator.create(`${OURS}/etcdmembers`, { ...record, metadata: { ...record.metadata, labels } });
  const folder = mkdtempSync(path.join(tmpdir(), "quorate-editor-"));
  try {
    const file = path.join(folder, "kubeconfig");
    writeFileSync(file, kubeconfigText("editor", editor.access));
    const call = async (...argv: string[]) => {
      const io = collectingIo({ env: { KUBECONFIG: file, HOME: folder }, cwd: folder });
      return { code: await dispatch(argv, verbs, "0.0.0", io), err: io.err() };
    };
    const { code, err } = await call("member", "replace", "demo-1", "--yes");
    assert.equal(code, EXIT.denied, err);
    assert.match(err, /the API server rejected this: .* needs the verb destroy .* the role admin .* grants/);
    assert.doesNotMatch(err, /can-i/);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

test("the server's version is read and found supported", async () => {
  const transport = transportTo(configOf(bed));
  try {
    const version = await serverVersion(clientOn(transport));
    assert.match(version, /^v1\.\d+\.\d+/);
    assert.deepEqual(judgeKubernetes(version), { verdict: "supported" });
  } finally {
    await transport.close();
  }
});
