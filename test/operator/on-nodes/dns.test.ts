/**
 * H15 on real nodes, all at their worst: DNS that remembers for 30 s, Services that hide where calls come from, and
 * nodes that learn of a Service or a Pod seconds late. No start of etcd fails, and nothing waits for DNS to forget.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Pod, Service } from "kubernetes-types/core/v1.d.ts";
import type { EtcdCluster } from "../../../src/api/etcd-cluster.ts";
import { eventually } from "../../../testbed/eventually.ts";
import { upForTests, type TestTestbed } from "../../../testbed/for-tests.ts";
import { PATHS } from "../../support/kube-paths.ts";
import { Lab } from "../../testbed/on-nodes/lab.ts";

let bed: TestTestbed;
let lab: Lab;
const PATIENCE = { withinMs: 60_000 };
/** Whoever waited for DNS to forget, even from a few seconds after it was told, would take longer. */
const SOONER_MS = 25_000;

before(async () => {
  bed = await upForTests({
    nodes: 3,
    dnsDenialSeconds: 30,
    services: { masquerade: true, updatedEvery: "2s" },
  });
  lab = new Lab(bed.name);
  await lab.call("define");
  await lab.call("startOperator");
});

after(async () => {
  await lab?.end();
  await bed?.down();
});

async function pods(): Promise<Pod[]> {
  const selector = encodeURIComponent("etcd.quorate.dev/cluster=demo");
  return (await bed.client.get<{ items: Pod[] }>(`${PATHS.pods}?labelSelector=${selector}`)).items;
}

/** At rest again, each Pod's etcd in its first life, and sooner than DNS forgets. */
async function rests(t: { diagnostic(text: string): void }, replicas: number, began: number): Promise<void> {
  await lab.call("converged", "demo", replicas);
  const took = Date.now() - began;
  t.diagnostic(`after ${took} ms`);
  for (const { metadata, status } of await pods())
    assert.equal(
      status?.containerStatuses?.[0]?.restartCount,
      0,
      `${metadata?.name}: a start of etcd failed`,
    );
  assert.ok(took < SOONER_MS, `${took} ms`);
}

const ids = async () => {
  const { status } = await bed.client.get<EtcdCluster>(`${PATHS.clusters}/demo`);
  return new Map(status?.members?.map(({ name, id }) => [name, id]));
};

test("three members are created", async (t) => {
  const began = Date.now();
  const memory = { storage: { medium: "Ephemeral", size: "512Mi" }, options: { quotaBackendBytes: "64Mi" } };
  await lab.call("create", "demo", { replicas: 3, ...memory });
  await rests(t, 3, began);
  await lab.call("assertSound", "demo", 3);
});

test("two more join", async (t) => {
  const began = Date.now();
  await lab.call("edit", "demo", { replicas: 5 });
  await rests(t, 5, began);
});

test("a member whose Pod is deleted, and its data with it, is replaced", async (t) => {
  const began = Date.now();
  await bed.client.delete(`${PATHS.pods}/demo-2`);
  await eventually("demo-2 is given up", async () => !(await ids()).has("demo-2"), PATIENCE);
  await rests(t, 5, began);
});

test("a member that somebody removes from etcd is replaced", async (t) => {
  const began = Date.now();
  await lab.call("removeFromEtcd", "demo", "demo-3");
  await eventually("demo-3 is given up", async () => !(await ids()).has("demo-3"), PATIENCE);
  await rests(t, 5, began);
});

test("a Service that somebody deletes is back at its address", async (t) => {
  const path = `${PATHS.services}/demo-1-peer`;
  const address = (await bed.client.get<Service>(path)).spec?.clusterIP;
  const began = Date.now();
  await bed.client.delete(path);
  const isBack = async () => (await bed.client.get<Service>(path)).spec?.clusterIP === address;
  await eventually("it is back", isBack, PATIENCE);
  await rests(t, 5, began);
  await lab.call("assertSound", "demo", 5);
});

test("a member whose Pod is deleted comes back as the same member, with another address", async (t) => {
  await bed.client.delete(`${PATHS.clusters}/demo`);
  await eventually("it is gone", async () => (await pods()).length === 0, PATIENCE);
  await lab.call("create", "disk", { replicas: 3, storage: { size: "512Mi" } });
  await lab.call("converged", "disk", 3);
  const podOf = () => bed.client.get<Pod>(`${PATHS.pods}/disk-2`);
  const before = await podOf();
  const began = Date.now();
  await bed.client.delete(`${PATHS.pods}/disk-2`);
  await eventually(
    "another Pod is ready",
    async () => {
      const { metadata, status } = await podOf();
      assert.notEqual(metadata?.uid, before.metadata?.uid);
      return status?.conditions?.some((one) => one.type === "Ready" && one.status === "True");
    },
    PATIENCE,
  );
  const took = Date.now() - began;
  t.diagnostic(`after ${took} ms`);
  const now = await podOf();
  assert.notEqual(now.status?.podIP, before.status?.podIP);
  assert.equal(now.status?.containerStatuses?.[0]?.restartCount, 0);
  assert.ok(took < SOONER_MS, `${took} ms`);
  await lab.call("converged", "disk", 3);
  await lab.call("assertSound", "disk", 3);
});
