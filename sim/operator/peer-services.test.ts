/** H15 in the simulated operator: the Service that peers dial a member by is made first, kept, and taken away last. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { EtcdMember } from "../../src/api/etcd-member.ts";
import { API_VERSION } from "../../src/api/metadata.ts";
import type { KubeRequest, KubeResponse } from "../../src/seams/kube-transport.ts";
import { services } from "../models/kube/kinds/service.ts";
import { json, type KubeJson } from "../models/kube/object.ts";
import { refusal } from "../models/kube/refusal.ts";
import { NAME, NAMESPACE } from "./environment.ts";
import { staysQuiet, wrongWith } from "./judge.ts";
import { OperatorSimulation } from "./simulation.ts";

const THREE = { replicas: 3, version: "3.6.16" } as const;
const PATH = `/api/v1/namespaces/${NAMESPACE}/services`;

async function rests(sim: OperatorSimulation): Promise<void> {
  await sim.settle();
  assert.equal(sim.converged, true, sim.whyNot());
  assert.deepEqual(wrongWith(sim), []);
}

const recordsOf = (sim: OperatorSimulation) => sim.env.members() as unknown as readonly EtcdMember[];
const serviceOf = (sim: OperatorSimulation, member: string): KubeJson | undefined =>
  sim.env.server.get(services, `${NAMESPACE}/${member}-peer`);
const addressOf = (sim: OperatorSimulation, member: string) =>
  json(serviceOf(sim, member)?.["spec"])["clusterIP"];
const warnings = (sim: OperatorSimulation) => sim.latest?.status.warnings?.join("\n") ?? "";
const starts = (sim: OperatorSimulation) =>
  recordsOf(sim).map(({ metadata }) => sim.env.pods.server(metadata.name)?.key);

/** No record is made from now on. */
function rejectRecords(sim: OperatorSimulation): void {
  const aim = (_: string, { method, path }: KubeRequest) =>
    method === "POST" && path.endsWith("/etcdmembers");
  const response = refusal(403, "Forbidden", "exceeded quota: no-members");
  sim.env.front.faults.plan({ kind: "answer", done: false, response }, aim, Infinity);
}

test("each member is dialled by a Service of its own, whose address its record remembers", async () => {
  const sim = new OperatorSimulation(THREE, { seed: 1 });
  await rests(sim);
  sim.edit({ replicas: 5 });
  await rests(sim);
  for (const { metadata, spec } of recordsOf(sim)) {
    assert.equal(spec.address.peerURL, `https://${metadata.name}-peer.${NAMESPACE}.svc:2380`);
    assert.deepEqual(spec.address.peerIPs, [addressOf(sim, metadata.name)]);
  }
  sim.edit({ replicas: 3 });
  await rests(sim);
  assert.deepEqual(warnings(sim), "");
  await staysQuiet(sim);
});

test("a Service that somebody deletes is there again at its address, and nobody restarts", async () => {
  const sim = new OperatorSimulation(THREE, { seed: 2 });
  await rests(sim);
  const before = [addressOf(sim, "demo-2"), ...starts(sim)];
  sim.user({ method: "DELETE", path: `${PATH}/demo-2-peer` });
  assert.equal(serviceOf(sim, "demo-2"), undefined);
  await rests(sim);
  assert.deepEqual([addressOf(sim, "demo-2"), ...starts(sim)], before);
  assert.deepEqual(warnings(sim), "");
});

test("whose address was taken meanwhile, it is there at another one, and that is reported", async () => {
  const sim = new OperatorSimulation(THREE, { seed: 3 });
  await rests(sim);
  const [clusterIP, ...running] = [addressOf(sim, "demo-2"), ...starts(sim)];
  sim.user({ method: "DELETE", path: `${PATH}/demo-2-peer` });
  const body = {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "thief" },
    spec: { clusterIP, ports: [{ port: 80 }] },
  };
  assert.equal(sim.user({ method: "POST", path: PATH, body }).status, 201);
  await sim.settle();
  assert.equal(sim.converged, true, sim.whyNot());
  assert.notEqual(addressOf(sim, "demo-2"), undefined);
  assert.notEqual(addressOf(sim, "demo-2"), clusterIP);
  assert.match(warnings(sim), /demo-2-peer was recreated at .* was taken/);
  assert.deepEqual(starts(sim), running);
  await staysQuiet(sim);
  // By then every DNS answer has expired.
  await sim.pass(600_000);
  assert.deepEqual(warnings(sim), "");
});

for (const [status, reason] of [
  [403, "Forbidden"],
  [500, "InternalError"],
] as const)
  test(`whose address may not be asked for any more (${reason}), it is there at another one`, async () => {
    const sim = new OperatorSimulation(THREE, { seed: 3 });
    await rests(sim);
    const running = starts(sim);
    sim.user({ method: "DELETE", path: `${PATH}/demo-2-peer` });
    const aim = (_: string, { method, path, body }: KubeRequest) =>
      method === "POST" && path === PATH && json(json(body)["spec"])["clusterIP"] !== undefined;
    const response = refusal(status, reason, "a fixed clusterIP is not allowed");
    sim.env.front.faults.plan({ kind: "answer", done: false, response }, aim, Infinity);
    await sim.settle();
    assert.equal(sim.converged, true, sim.whyNot());
    assert.notEqual(addressOf(sim, "demo-2"), undefined);
    assert.deepEqual(starts(sim), running);
  });

/** The headless Service is made all the same: who may make none at all has no cluster. */
function rejectPeers(sim: OperatorSimulation, response: KubeResponse, times = Infinity): void {
  const aim = (_: string, { method, path, body }: KubeRequest) =>
    method === "POST" && path === PATH && String(json(json(body)["metadata"])["name"]).endsWith("-peer");
  sim.env.front.faults.plan({ kind: "answer", done: false, response }, aim, times);
}

for (const [why, response] of [
  ["a quota", refusal(403, "Forbidden", "exceeded quota: no-services")],
  [
    "a range without addresses",
    refusal(500, "InternalError", "failed to allocate a serviceIP: range is full"),
  ],
] as const)
  test(`where ${why} keeps Services out, members are dialled by their Pods' names, and that is reported`, async () => {
    const sim = new OperatorSimulation(THREE, { seed: 4 });
    rejectPeers(sim, response);
    await rests(sim);
    for (const { metadata, spec } of recordsOf(sim)) {
      const host = `${metadata.name}.demo-peers.${NAMESPACE}.svc`;
      assert.equal(spec.address.peerURL, `https://${host}:2380`);
      assert.deepEqual(spec.address.peerIPs, []);
    }
    assert.match(
      warnings(sim),
      /rejected a Service for the peer URLs of demo-1, demo-2, demo-3, so .* of their Pods.*(quota|range)/,
    );
    await staysQuiet(sim);
    const running = starts(sim);

    // As with members of an older operator: they stay as they are, and newcomers have Services.
    sim.env.front.faults.clear();
    await sim.pass(60_000);
    sim.edit({ replicas: 5 });
    await rests(sim);
    assert.deepEqual(starts(sim).slice(0, 3), running);
    for (const member of ["demo-4", "demo-5"]) assert.notEqual(serviceOf(sim, member), undefined, member);
    assert.equal(serviceOf(sim, "demo-1"), undefined);
  });

test("an API server that fails for a moment costs nobody its Service, nor its address", async () => {
  const sim = new OperatorSimulation(THREE, { seed: 5 });
  await rests(sim);
  const failure = refusal(500, "InternalError", "etcdserver: request timed out");
  const address = addressOf(sim, "demo-2");
  rejectPeers(sim, failure, 2);
  sim.user({ method: "DELETE", path: `${PATH}/demo-2-peer` });
  await rests(sim);
  assert.equal(addressOf(sim, "demo-2"), address);
  rejectPeers(sim, failure, 2);
  sim.edit({ replicas: 5 });
  await rests(sim);
  for (const member of ["demo-4", "demo-5"]) assert.notEqual(serviceOf(sim, member), undefined, member);
});

test("a name that somebody else has is not waited for: the newcomer is dialled by its Pod's", async () => {
  const sim = new OperatorSimulation(THREE, { seed: 7 });
  await rests(sim);
  const body = {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "demo-4-peer" },
    spec: { ports: [{ port: 80 }] },
  };
  assert.equal(sim.user({ method: "POST", path: PATH, body }).status, 201);
  sim.edit({ replicas: 5 });
  await sim.settle();
  assert.equal(sim.converged, true, sim.whyNot());
  const [fourth] = recordsOf(sim).filter(({ metadata }) => metadata.name === "demo-4");
  assert.equal(fourth?.spec.address.peerURL, `https://demo-4.demo-peers.${NAMESPACE}.svc:2380`);
  assert.match(warnings(sim), /^Service demo-4-peer does not belong to demo .* of demo-4/);
  assert.match(warnings(sim), /Rename or delete Service demo-4-peer, then delete EtcdMembers? demo-4/);
});

const CLUSTERS = `/apis/${API_VERSION}/namespaces/${NAMESPACE}/etcdclusters`;

for (const storage of [
  { medium: "Memory", size: "512Mi" },
  { medium: "HostPath", hostPath: "/var/lib/etcd-data" },
] as const)
  test(`a cluster that is created again at once waits for its predecessor's Services to go (${storage.medium})`, async () => {
    const opened: unknown[] = [];
    let uid = "";
    const sim = new OperatorSimulation(
      { ...THREE, storage, options: { quotaBackendBytes: "16Mi" } },
      {
        seed: 1,
        onPass: ({ observation: { cluster, platform, members } }) => {
          if (cluster.uid !== uid && members.length === 0) opened.push(platform.opened);
        },
      },
    );
    await sim.settle();
    uid = sim.cluster?.metadata.uid ?? "";
    opened.length = 0;
    const spec = sim.cluster?.spec;
    sim.deleteCluster();
    while (!sim.isGone) await sim.pass(5);
    assert.notEqual(serviceOf(sim, "demo-1"), undefined, "the garbage collector is not that fast");
    const metadata = { name: NAME, namespace: NAMESPACE };
    const body = { apiVersion: API_VERSION, kind: "EtcdCluster", metadata, spec };
    assert.equal(sim.user({ method: "POST", path: CLUSTERS, body }).status, 201);
    await sim.settle();
    assert.equal(sim.converged, true, sim.whyNot());
    assert.equal(recordsOf(sim).length, 3);
    for (const { metadata: record, spec: member } of recordsOf(sim)) {
      assert.equal(member.address.peerURL, `https://${record.name}-peer.${NAMESPACE}.svc:2380`);
      assert.deepEqual(member.address.peerIPs, [addressOf(sim, record.name)]);
    }
    assert.doesNotMatch(warnings(sim), /Service/);
    assert.ok(opened.length > 0);
    assert.deepEqual(new Set(opened), new Set([false]), "its predecessor's client Service opens nothing");
  });

test("a Service without a record is used by the newcomer it was made for, or goes", async () => {
  const sim = new OperatorSimulation(THREE, { seed: 6 });
  await rests(sim);
  rejectRecords(sim);
  sim.edit({ replicas: 5 });
  await sim.pass(30_000);
  const address = addressOf(sim, "demo-4");
  assert.notEqual(address, undefined, "made, and no record follows");
  assert.equal(recordsOf(sim).length, 3);
  sim.env.front.faults.clear();
  await rests(sim);
  assert.equal(addressOf(sim, "demo-4"), address);

  rejectRecords(sim);
  sim.edit({ replicas: 7 });
  await sim.pass(30_000);
  assert.notEqual(serviceOf(sim, "demo-6"), undefined);
  sim.env.front.faults.clear();
  sim.edit({ replicas: 5 });
  await rests(sim);
  assert.equal(serviceOf(sim, "demo-6"), undefined);
});
