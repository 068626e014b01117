/**
 * Recovery from quorum loss on a real API server, with real etcd in Pods of the stand-in kubelet and our command from its
 * sources: volumes that are claims, and directories of nodes.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Node } from "kubernetes-types/core/v1.d.ts";
import type { RecoveryStatus } from "../../src/api/etcd-cluster-status.ts";
import type { EtcdOperation } from "../../src/api/etcd-operation.ts";
import { LABELS } from "../../src/operator/names.ts";
import { STRATEGIC_PATCH } from "../../testbed/client.ts";
import { eventually } from "../../testbed/eventually.ts";
import { faults } from "../../testbed/faults.ts";
import type { TestTestbed } from "../../testbed/for-tests.ts";
import { PATHS } from "../support/kube-paths.ts";
import { KubectlEtcd } from "../support/kubectl-etcd.ts";
import { EVERY_CASE } from "../support/sample.ts";
import {
  ClusterOnBed,
  PATIENCE_MS,
  startOperator,
  upWithDefinitions,
  type Running,
} from "../support/operator.ts";
import { ownImage } from "../support/own-image.ts";

const BUMP = 1_000_000_000;
const KEYS = 40;
const RECOVERED = /^Recovered from the data of .*-3, which reached revision/;

let bed: TestTestbed;
let running: Running;
let kubectl: KubectlEtcd;
const clusters: ClusterOnBed[] = [];

before(async () => {
  bed = await upWithDefinitions();
  kubectl = await KubectlEtcd.install(bed);
  running = startOperator(bed, ownImage(bed));
});

after(async () => {
  for (const cluster of clusters) await cluster.close();
  await running?.stop();
  await bed?.down();
  kubectl?.[Symbol.dispose]();
});

/** Three members with acknowledged writes. */
async function written(name: string, spec: object): Promise<ClusterOnBed> {
  const cluster = new ClusterOnBed(bed, name, running);
  clusters.push(cluster);
  await cluster.create({ replicas: 3, ...spec });
  await cluster.converged(3);
  const { kv } = await cluster.etcd();
  for (let i = 0; i < KEYS; i++) await kv.put(`key/${i}`, `value ${i}`, { timeoutMs: 5_000 });
  return cluster;
}

/** Of which the first two lose their volumes. */
async function lostQuorum(name: string, spec: object): Promise<ClusterOnBed> {
  const cluster = await written(name, spec);
  const fault = faults(bed.name);
  await Promise.all([1, 2].map((n) => fault.loseVolume("default", `${name}-${n}`, "data")));
  return cluster;
}

async function planOf(cluster: ClusterOnBed): Promise<RecoveryStatus> {
  return await eventually("there is a plan", async () => (await cluster.status()).recovery, {
    withinMs: PATIENCE_MS,
  }).catch(async (error: unknown) => {
    const pods = (await cluster.pods()).map(({ metadata, status }) => [metadata?.name, status]);
    const told = JSON.stringify([(await cluster.status()).message, pods], undefined, 1);
    throw new Error(`${String(error)}\n${told}\n${running.log.slice(-10).join("\n")}`, { cause: error });
  });
}

async function assertRecovered(cluster: ClusterOnBed, plan: RecoveryStatus): Promise<void> {
  await cluster.converged(3);
  await cluster.assertSound(3);
  const { kv } = await cluster.etcd();
  const all = await kv.range("key/", { prefix: true, timeoutMs: 5_000 });
  assert.equal(all.count, KEYS, "every acknowledged write that the survivor had");
  assert.ok(Number(all.header.revision) >= plan.revision.least + BUMP);
  const names = (await cluster.members()).map(({ metadata }) => metadata.name);
  assert.deepEqual(
    names.toSorted(),
    [4, 5, 6].map((n) => `${cluster.name}-${n}`),
  );
  await eventually("no Pod of the recovery is left", async () =>
    (await cluster.pods()).every(({ metadata }) => metadata?.labels?.[LABELS.task] === undefined),
  );
}

test("two of three claims are emptied: the plan is told, a wrong hash is rejected, and the approved one is carried out", async () => {
  const cluster = await lostQuorum("claims", {});
  const plan = await planOf(cluster);
  assert.equal(plan.survivor, "claims-3");
  assert.deepEqual(
    plan.members.map(({ name, data }) => `${name} ${data}`),
    ["claims-1 Lost", "claims-2 Lost", "claims-3 Found"],
  );
  await cluster.ask("wrong", { recoverQuorum: { approve: "0123456789abcdef" } });
  const { reason } = await cluster.operationIs("wrong", "Rejected");
  assert.equal(reason, "PlanChanged");
  const authority = async () =>
    (await bed.client.get<{ data?: Record<string, string> }>(`${PATHS.secrets}/claims-peer-ca`)).data;
  const before = await authority();
  await kubectl.refused("recover quorum claims", 6, /claims-3[^]*--yes/);
  await kubectl.done(`recover quorum claims --plan ${plan.plan} --yes`, RECOVERED);
  await assertRecovered(cluster, plan);
  assert.notEqual((await authority())?.["tls.crt"], before?.["tls.crt"], "another peer CA");
  const kept = (await cluster.claims()).map(({ metadata }) => metadata?.name);
  for (const claim of ["data-claims-1", "data-claims-2", "data-claims-3"])
    assert.ok(kept.includes(claim), `${claim} is kept`);
});

test("two nodes do not answer: the plan names them, and who says that they are off recovers from the third", async () => {
  const cluster = await written("silent", {});
  const nodes = (await cluster.pods())
    .flatMap(({ metadata, spec }) => (/-[12]$/.test(metadata?.name ?? "") ? [spec?.nodeName ?? ""] : []))
    .toSorted();
  assert.equal(new Set(nodes).size, 2, "each member is on a node of its own");
  const fault = faults(bed.name);
  for (const node of nodes) await fault.crashNode(node);
  for (const node of nodes) await silentForLong(node);
  const plan = await planOf(cluster);
  assert.deepEqual(
    plan.nodesOff?.map(({ name, members }) => [name, members.length]),
    nodes.map((name) => [name, 1]),
  );
  assert.deepEqual(
    plan.members.map(({ name, data }) => `${name} ${data}`),
    ["silent-1 Unreachable", "silent-2 Unreachable", "silent-3 Found"],
  );
  await cluster.ask("unnamed", { recoverQuorum: { approve: plan.plan } });
  assert.equal((await cluster.operationIs("unnamed", "Rejected")).reason, "NodesDiffer");
  const call = `recover quorum silent --plan ${plan.plan} --yes`;
  await kubectl.refused(call, 5, /--node-off/);
  await kubectl.done(`${call} ${nodes.map((node) => `--node-off ${node}`).join(" ")}`, RECOVERED);
  const hanging = async () =>
    (await cluster.pods()).filter(({ metadata }) => /-[12]$/.test(metadata?.name ?? ""));
  assert.ok(
    (await hanging()).every(({ metadata }) => metadata?.deletionTimestamp !== undefined),
    "no Pod was deleted by force, and none is to run",
  );
  for (const node of nodes) await fault.startNode(node);
  await eventually("the former Pods have ended", async () => (await hanging()).length === 0, {
    withinMs: PATIENCE_MS,
  });
  await assertRecovered(cluster, plan);
});

/** The control plane has noticed, and what it wrote is made older than it is: nobody waits for five minutes. */
async function silentForLong(node: string): Promise<void> {
  const path = `/api/v1/nodes/${node}`;
  const ready = async () =>
    (await bed.client.get<Node>(path)).status?.conditions?.find(({ type }) => type === "Ready");
  await eventually(`${node} is silent`, async () => (await ready())?.status === "Unknown", {
    withinMs: PATIENCE_MS,
  });
  const lastTransitionTime = new Date(Date.now() - 10 * 60_000).toISOString();
  await bed.client.patch(
    `${path}/status`,
    { status: { conditions: [{ type: "Ready", status: "Unknown", lastTransitionTime }] } },
    STRATEGIC_PATCH,
  );
}

const onNodes = async () => {
  const storage = { medium: "HostPath", size: "1Gi", hostPath: "/var/lib/quorate" };
  const cluster = await lostQuorum("hosts", { storage });
  const plan = await planOf(cluster);
  const survivor = (await cluster.pods()).find(({ metadata }) => metadata?.name === "hosts-3");
  await kubectl.done(`recover quorum hosts --plan ${plan.plan} --yes`, RECOVERED);
  await assertRecovered(cluster, plan);
  const first = (await cluster.pods()).find(({ metadata }) => metadata?.name === "hosts-4");
  assert.equal(first?.spec?.nodeName, survivor?.spec?.nodeName);
};

/** How soon it is known what was lost decides whether a person is needed: seconds, which a busy machine may not have. */
const withoutPerson = async () => {
  const recovery = { quorumLoss: "Automatic", maxLostRevisions: 1_000 };
  const repair = { unhealthyAfter: "5s", memberLostAfter: "10s" };
  const cluster = await lostQuorum("alone", { recovery, repair });
  const plan = await planOf(cluster);
  assert.ok(plan.lostRevisions, "it is known how much would be lost");
  const operation = await eventually(
    "the operator approves the plan",
    async () => {
      const { items } = await bed.client.get<{ items: EtcdOperation[] }>(PATHS.operations);
      return items.map(({ metadata }) => metadata.name).find((name) => name?.startsWith("alone-auto-"));
    },
    { withinMs: PATIENCE_MS },
  );
  assert.equal(operation, `alone-auto-${plan.plan}-1`);
  // The new members may take their time.
  await cluster.edit({ repair: { unhealthyAfter: "2m", memberLostAfter: "30m" } });
  const { message } = await cluster.operationIs(operation, "Succeeded");
  assert.match(message ?? "", RECOVERED);
  await assertRecovered(cluster, plan);
};

// The same path but for who approves it.
if (EVERY_CASE)
  test(
    "quorumLoss Automatic: two of three claims are emptied, and the survivor is taken without a person",
    withoutPerson,
  );

// The same path but for where the snapshot is; the simulator has both.
if (EVERY_CASE)
  test(
    "two of three directories of nodes are emptied: the first new member starts where the survivor was",
    onNodes,
  );

test("the recovery was asked for through kubectl", async () => {
  await kubectl.assertProven(import.meta.filename);
});
