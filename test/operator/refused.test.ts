/**
 * What the operator is kept from making, and what somebody else changes, on a real API server: admission that refuses
 * Pods, an authority that is gone, labels and owners taken away, a field with two owners, a name that is taken, a
 * finalizer taken off. Nothing intact is removed, and nothing is left that runs.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Secret, Service } from "kubernetes-types/core/v1.d.ts";
import { isCode } from "../../testbed/client.ts";
import { eventually } from "../../testbed/eventually.ts";
import type { TestTestbed } from "../../testbed/for-tests.ts";
import { PATHS } from "../support/kube-paths.ts";
import { ClusterOnBed, startOperator, upWithDefinitions, type Running } from "../support/operator.ts";

const LOST_AFTER_MS = 5_000;
const NAMES = ["demo-1", "demo-2", "demo-3"];
const POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
const BINDINGS = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings";
const soon = { withinMs: 60_000 };

let bed: TestTestbed;
let running: Running;
let cluster: ClusterOnBed;

before(async () => {
  bed = await upWithDefinitions();
  running = startOperator(bed);
  cluster = new ClusterOnBed(bed, "demo", running);
  await cluster.create({
    replicas: 3,
    repair: { unhealthyAfter: "3s", memberLostAfter: `${LOST_AFTER_MS / 1_000}s` },
  });
  await cluster.converged(3);
});

after(async () => {
  await cluster?.close();
  await running?.stop();
  await bed?.down();
});

/** Who is who: names, IDs and volumes, which a member keeps for life. */
async function identities(): Promise<unknown[]> {
  return (await cluster.members()).map(({ metadata, spec }) => [
    metadata.name,
    metadata.uid,
    spec.memberID,
    spec.volumeUID,
  ]);
}

async function uidOfPod(name: string): Promise<string | undefined> {
  return (await cluster.pods()).find(({ metadata }) => metadata?.name === name)?.metadata?.uid;
}

/** Deletes a Pod and waits until another one of its name is ready. */
async function madeAgain(name: string): Promise<void> {
  const uid = await uidOfPod(name);
  await cluster.deletePod(name);
  await eventually(
    `another Pod ${name} is ready`,
    async () => {
      const pod = (await cluster.pods()).find(({ metadata }) => metadata?.name === name);
      const ready = pod?.status?.conditions?.some(
        ({ type, status }) => type === "Ready" && status === "True",
      );
      return pod?.metadata?.uid !== uid && ready;
    },
    soon,
  );
}

async function refusePods(): Promise<() => Promise<void>> {
  const apiVersion = "admissionregistration.k8s.io/v1";
  const metadata = { name: "no-pods.example" };
  const rule = { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["pods"] };
  await bed.client.create(POLICIES, {
    apiVersion,
    kind: "ValidatingAdmissionPolicy",
    metadata,
    spec: {
      failurePolicy: "Fail",
      matchConstraints: { resourceRules: [rule] },
      validations: [{ expression: "false", message: "no Pods today" }],
    },
  });
  await bed.client.create(BINDINGS, {
    apiVersion,
    kind: "ValidatingAdmissionPolicyBinding",
    metadata,
    spec: { policyName: metadata.name, validationActions: ["Deny"] },
  });
  const probe = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "probe", namespace: "default" },
    spec: { containers: [{ name: "probe", image: "none" }] },
  };
  await eventually(
    "Pods are refused",
    async () => {
      try {
        await bed.client.create(`${PATHS.pods}?dryRun=All`, probe);
        return false;
      } catch (error) {
        return isCode(error, 422) || isCode(error, 403);
      }
    },
    soon,
  );
  return async () => {
    await bed.client.delete(`${BINDINGS}/${metadata.name}`);
    await bed.client.delete(`${POLICIES}/${metadata.name}`);
  };
}

test("a member whose Pod is refused for longer than memberLostAfter is kept, and returns when it is allowed", async () => {
  const known = await identities();
  const allow = await refusePods();
  try {
    await cluster.deletePod("demo-2");
    const deletedAt = Date.now();
    await eventually(
      "it is told, long after the member would have been lost",
      async () => {
        const { message = "" } = await cluster.status();
        return (
          /demo-2 cannot be started: the Pod of demo-2: .*no Pods today/.test(message) &&
          Date.now() - deletedAt > 3 * LOST_AFTER_MS
        );
      },
      soon,
    );
    assert.deepEqual(await identities(), known);
    assert.equal((await cluster.claims()).length, 3);
  } finally {
    await allow();
  }
  await cluster.converged(3);
  assert.deepEqual(await identities(), known);
  await cluster.assertSound(3);
});

test("newcomers whose Pods are refused are in no list of etcd, and join when they are allowed or are taken back", async () => {
  const known = await identities();
  const allow = await refusePods();
  const voters = async () => (await (await cluster.etcd()).cluster.memberList()).members;
  try {
    await cluster.edit({ replicas: 5 });
    const seenAt = Date.now();
    await eventually(
      "it is told, and lasts",
      async () => {
        assert.equal((await voters()).length, 3, "no newcomer in etcd");
        const { message = "" } = await cluster.status();
        return (
          /demo-4 cannot be started: the Pod of demo-4: .*no Pods today/.test(message) &&
          Date.now() - seenAt > 2 * LOST_AFTER_MS
        );
      },
      soon,
    );
  } finally {
    await allow();
    await cluster.edit({ replicas: 3 });
  }
  await cluster.converged(3);
  assert.deepEqual(await identities(), known);
  assert.deepEqual(new Set((await voters()).map(({ name }) => name)), new Set(NAMES));
  await cluster.assertSound(3);
});

test("without its authority a member with a valid Secret is started again, also by another operator", async () => {
  const known = await identities();
  const path = `${PATHS.secrets}/demo-peer-ca`;
  const secret = await bed.client.get<Secret>(path);
  await bed.client.delete(path);
  await running.stop();
  running = startOperator(bed);
  await eventually(
    "it is told",
    async () => (await cluster.condition("TLSReady")) === "False/CertificateProblem",
    soon,
  );
  await madeAgain("demo-1");
  const { name, namespace, labels, ownerReferences } = secret.metadata ?? {};
  await bed.client.create(PATHS.secrets, {
    ...secret,
    metadata: { name, namespace, labels, ownerReferences },
  } as never);
  await cluster.converged(3);
  assert.deepEqual(await identities(), known);
});

test("without labels on any claim, a restarted operator makes a deleted Pod again on its volume", async () => {
  const known = await identities();
  await running.stop();
  for (const name of NAMES)
    await bed.client.patch(`${PATHS.claims}/data-${name}`, { metadata: { labels: null } });
  await bed.client.delete(`${PATHS.pods}/demo-3?gracePeriodSeconds=0`);
  running = startOperator(bed);
  await eventually(
    "the claims are found by their labels again",
    async () => (await cluster.claims()).length === 3,
    soon,
  );
  await cluster.converged(3);
  assert.deepEqual(await identities(), known);
  await cluster.assertSound(3);
});

test("labels of a claim, and labels and owner of a record, are given back, and nobody is removed", async () => {
  const known = await identities();
  const steps = running.steps.length;
  await bed.client.patch(`${PATHS.claims}/data-demo-1`, { metadata: { labels: null } });
  const stripped = { labels: null, ownerReferences: null, finalizers: null };
  await bed.client.patch(`${PATHS.members}/demo-1`, { metadata: stripped });
  await eventually(
    "all are found by their labels again",
    async () => (await cluster.claims()).length === 3 && (await cluster.members()).length === 3,
    soon,
  );
  const record = (await cluster.members()).find(({ metadata }) => metadata.name === "demo-1");
  assert.equal(record?.metadata.ownerReferences?.[0]?.uid, (await cluster.get()).metadata.uid);
  assert.deepEqual(record?.metadata.finalizers, ["etcd.quorate.dev/member"]);
  await cluster.converged(3);
  assert.deepEqual(await identities(), known);
  assert.deepEqual(
    running.steps.slice(steps).filter((step) => !step.startsWith("CompareHashes")),
    [],
  );
});

test("a label that another manager insists on: bounded writes, and the status names both", async () => {
  const path = `${PATHS.services}/demo-client`;
  const label = "app.kubernetes.io/managed-by";
  const began = running.calls.length;
  const beganAt = Date.now();
  let reported = "";
  // Whoever it is, it is quick.
  while (!reported && Date.now() - beganAt < 60_000) {
    const service = await bed.client.get<Service>(path);
    if (service.metadata?.labels?.[label] === "quorate")
      await bed.client.patch(`${path}?fieldManager=kyverno`, {
        metadata: { labels: { [label]: "kyverno" } },
      });
    const degraded = (await cluster.status()).conditions?.find(({ type }) => type === "Degraded");
    if (Date.now() - beganAt > 8_000 && degraded?.message.includes(label)) reported = degraded.message;
  }
  assert.match(
    reported,
    /another manager \(kyverno\) keeps changing metadata\.labels\[app\.kubernetes\.io\/managed-by\]/,
  );
  const applied = running.calls
    .slice(began)
    .filter(({ verb, resource }) => resource === "services" && (verb === "apply" || verb === "patch"));
  const most = 4 + Math.log2((Date.now() - beganAt) / 1_000);
  assert.ok(applied.length <= 2 * most, `${applied.length} writes`);
  await cluster.converged(3);
});

test("a budget of somebody else's under our name keeps no Pod from being made again", async () => {
  await bed.client.patch(`${PATHS.budgets}/demo`, { metadata: { ownerReferences: null, labels: null } });
  await eventually("it is told", async () => (await cluster.condition("Ready")) === "False/NameClash", soon);
  await madeAgain("demo-3");
  await bed.client.delete(`${PATHS.budgets}/demo`);
  await cluster.converged(3);
  assert.deepEqual(await cluster.list(PATHS.budgets), ["demo"]);
});

test("while the mark of replacements cannot be read, Pods are made again, and a cluster can be deleted", async () => {
  const mark = async (value: string | null) =>
    await bed.client.patch(`${PATHS.clusters}/demo`, {
      metadata: { annotations: { "etcd.quorate.dev/replaced": value } },
    });
  const isTold = async (of: ClusterOnBed) => (await of.condition("Ready")) === "False/MarkUnreadable";
  await mark("often");
  await eventually("it is told", () => isTold(cluster), soon);
  await madeAgain("demo-2");
  assert.ok(await isTold(cluster), "still");
  await mark(null);
  await cluster.converged(3);
  const other = new ClusterOnBed(bed, "marked", running);
  try {
    await other.create({ replicas: 1 });
    await other.converged(1);
    const annotations = { "etcd.quorate.dev/replaced": "often" };
    await bed.client.patch(`${PATHS.clusters}/marked`, { metadata: { annotations } });
    await eventually("it is told of the other", () => isTold(other), soon);
    await other.delete();
    await other.gone(`${PATHS.clusters}/marked`);
    await bed.client.delete(`${PATHS.claims}/data-marked-1`);
  } finally {
    await other.close();
  }
});

test("a cluster whose finalizer was taken off leaves its volumes, and nothing that runs", async () => {
  await cluster.delete();
  const finalizers = { metadata: { finalizers: null } };
  await bed.client.patch(`${PATHS.clusters}/demo`, finalizers).catch((error: unknown) => {
    // The operator was quicker.
    if (!isCode(error, 404)) throw error;
  });
  await cluster.gone(`${PATHS.clusters}/demo`);
  for (const path of [PATHS.members, PATHS.pods, PATHS.secrets])
    await eventually(`${path} are gone`, async () => (await cluster.list(path)).length === 0, soon);
  assert.deepEqual(
    await cluster.list(PATHS.claims),
    NAMES.map((name) => `data-${name}`),
  );
});
