/**
 * What reaches members that run: other resources where the server can, by a restart where it cannot; and the address
 * of a load balancer in their certificates.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Pod, Secret, Service } from "kubernetes-types/core/v1.d.ts";
import { X509Certificate } from "node:crypto";
import { readStart } from "../../src/core/template/start.ts";
import { ANNOTATIONS } from "../../src/operator/names.ts";
import { eventually } from "../../testbed/eventually.ts";
import type { TestTestbed } from "../../testbed/for-tests.ts";
import { PATHS } from "../support/kube-paths.ts";
import { ClusterOnBed, startOperator, upWithDefinitions, type Running } from "../support/operator.ts";
import { OperatorChecker } from "../support/operator-checker.ts";
import { EVERY_CASE } from "../support/sample.ts";

let bed: TestTestbed;
let running: Running;
const clusters: ClusterOnBed[] = [];

before(async () => {
  bed = await upWithDefinitions();
  running = startOperator(bed);
});

after(async () => {
  for (const cluster of clusters) await cluster.close();
  await running?.stop();
  await bed?.down();
});

async function made(name: string, spec: object): Promise<ClusterOnBed> {
  const cluster = new ClusterOnBed(bed, name, running);
  clusters.push(cluster);
  await cluster.create(spec);
  await cluster.converged(3);
  return cluster;
}

const uids = (pods: readonly Pod[]) => pods.map(({ metadata }) => metadata?.uid ?? "").toSorted();
const etcd = (pod: Pod) => pod.spec?.containers.find(({ name }) => name === "etcd");
const resources = (pods: readonly Pod[]) => pods.map((pod) => etcd(pod)?.resources);
const three = <T>(value: T): T[] => [value, value, value];

for (const medium of EVERY_CASE ? ["Memory", "Persistent"] : ["Persistent"])
  test(`${medium}: members get other resources while they run, and nobody restarts`, async () => {
    const name = medium.toLowerCase();
    const cluster = await made(name, { storage: { medium, size: "1Gi" } });
    await using checker = await OperatorChecker.start(cluster);
    const before = await cluster.pods();
    const from = running.steps.length;
    const wanted = { requests: { cpu: "150m", memory: "300Mi" } };
    await cluster.edit({ pod: { resources: wanted } });
    await cluster.converged(3);
    const pods = await cluster.pods();
    assert.deepEqual(uids(pods), uids(before));
    assert.deepEqual(resources(pods), three(wanted));
    assert.deepEqual(
      pods.map(({ status }) => status?.containerStatuses?.map((one) => [one.restartCount, one.resources])),
      three([[0, wanted]]),
    );
    // A busy machine may cost an election; it is the operator that must not ask for another leader.
    const handedOver = running.steps.slice(from).filter((step) => step.startsWith("MoveLeader"));
    assert.deepEqual(handedOver, [], "nobody had to hand over");
    for (const pod of pods) {
      const start = readStart(pod.metadata?.annotations?.[ANNOTATIONS.startedFrom] ?? "");
      assert.ok(start && start.resizing === undefined);
    }
    await cluster.edit({ pod: { resources: { requests: { cpu: "100m", memory: "256Mi" } } } });
    await cluster.converged(3);
    assert.deepEqual(uids(await cluster.pods()), uids(before), "nor on the way back");
    await checker.judged();
  });

const OTHERWISE = {
  Persistent: "a restart, one member at a time",
  Memory: "newcomers, since a restart would lose the data (H4)",
};

for (const [medium, how] of Object.entries(OTHERWISE))
  test(`${medium}: what the server does not change in place comes by ${how}`, async () => {
    const cluster = await made(`class-${medium.toLowerCase()}`, { storage: { medium, size: "1Gi" } });
    const names = await cluster.list(PATHS.members);
    await using checker = await OperatorChecker.start(cluster);
    const before = uids(await cluster.pods());
    // With equal requests and limits it is Guaranteed, and a Pod keeps its class for life.
    const wanted = { requests: { cpu: "100m", memory: "256Mi" }, limits: { cpu: "100m", memory: "256Mi" } };
    await cluster.edit({ pod: { resources: wanted } });
    await cluster.converged(3);
    const pods = await cluster.pods();
    assert.deepEqual(resources(pods), three(wanted));
    assert.deepEqual(
      uids(pods).filter((uid) => before.includes(uid)),
      [],
    );
    const kept = (await cluster.list(PATHS.members)).filter((name) => names.includes(name));
    assert.equal(kept.length, medium === "Memory" ? 0 : 3);
    await cluster.assertSound(3);
    await checker.judged();
  });

test("the address that a load balancer gives is in the members' certificates and in the status, without a restart", async () => {
  const cluster = await made("outside", {
    service: { type: "LoadBalancer", loadBalancerSourceRanges: ["192.0.2.0/24"] },
  });
  const before = uids(await cluster.pods());
  const path = `${PATHS.services}/outside-client`;
  const { spec } = await bed.client.get<Service>(path);
  assert.deepEqual(spec?.loadBalancerSourceRanges, ["192.0.2.0/24"]);
  const give = async (ingress: object[]) =>
    await bed.client.patch(`${path}/status`, { status: { loadBalancer: { ingress } } });
  await give([{ ip: "192.0.2.7" }, { hostname: "lb.example.com" }]);
  const names = async () => {
    const secret = await bed.client.get<Secret>(`${PATHS.secrets}/outside-1`);
    const pem = Buffer.from(secret.data?.["server.pem"] ?? "", "base64");
    return new X509Certificate(pem).subjectAltName ?? "";
  };
  await eventually("its names are certified", async () => {
    const text = await names();
    return text.includes("IP Address:192.0.2.7") && text.includes("DNS:lb.example.com");
  });
  await eventually("its endpoints are reported", async () => {
    const { externalEndpoints } = await cluster.status();
    assert.deepEqual(externalEndpoints, ["https://192.0.2.7:2379", "https://lb.example.com:2379"]);
    return true;
  });
  await cluster.edit({ service: { type: "ClusterIP", loadBalancerSourceRanges: null } });
  await eventually("they are gone from both", async () => {
    assert.equal((await cluster.status()).externalEndpoints, undefined);
    return !(await names()).includes("192.0.2.7");
  });
  await cluster.converged(3);
  assert.deepEqual(uids(await cluster.pods()), before);
});
