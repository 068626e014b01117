/**
 * H15 on a real API server of two address families, IPv6 first: the Service that peers dial a member by has one
 * address; it comes back there when somebody deletes it, at another one when that was taken, and is done without where
 * a quota keeps it out.
 */
import assert from "node:assert/strict";
import { isIP } from "node:net";
import { after, before, test } from "node:test";
import type { Service } from "kubernetes-types/core/v1.d.ts";
import { eventually } from "../../testbed/eventually.ts";
import type { TestTestbed } from "../../testbed/for-tests.ts";
import { PATHS } from "../support/kube-paths.ts";
import { ClusterOnBed, startOperator, upWithDefinitions, writes, type Running } from "../support/operator.ts";

let bed: TestTestbed;
let running: Running;
let demo: ClusterOnBed;
let passes = 0;
const clusters: ClusterOnBed[] = [];
const PATIENCE = { withinMs: 60_000 };

before(async () => {
  bed = await upWithDefinitions({ serviceRanges: "fd00:96::/112,10.96.0.0/16" });
  running = startOperator(bed, { hooks: { onPass: () => void passes++ } });
  demo = new ClusterOnBed(bed, "demo", running);
  clusters.push(demo);
  await demo.create({ replicas: 3 });
  await demo.converged(3);
});

after(async () => {
  for (const cluster of clusters) await cluster.close();
  await running?.stop();
  await bed?.down();
});

const addressOf = async (name: string) =>
  (await bed.client.get<Service>(`${PATHS.services}/${name}`)).spec?.clusterIP;

async function lives(cluster: ClusterOnBed): Promise<unknown> {
  return (await cluster.pods()).map(({ metadata, status }) => [
    metadata?.uid,
    status?.containerStatuses?.[0]?.restartCount,
  ]);
}

test("each record remembers the address of its Service", async () => {
  for (const { metadata, spec } of await demo.members()) {
    assert.equal(spec.address.peerURL, `https://${metadata.name}-peer.default.svc:2380`);
    assert.deepEqual(spec.address.peerIPs, [await addressOf(`${metadata.name}-peer`)]);
  }
});

test("one address of the first family is enough for peers, and clients have one of each", async () => {
  const families = async (name: string) => {
    const { spec } = await bed.client.get<Service>(`${PATHS.services}/${name}`);
    return [spec?.ipFamilyPolicy, spec?.ipFamilies, spec?.clusterIPs?.map((one) => isIP(one))];
  };
  assert.deepEqual(await families("demo-1-peer"), ["SingleStack", ["IPv6"], [6]]);
  assert.deepEqual(await families("demo-client"), ["PreferDualStack", ["IPv6", "IPv4"], [6, 4]]);
  // What the API server adds to them is no difference: at the next look nothing is written.
  const [calls, seen] = [running.calls.length, passes];
  await bed.client.patch(`${PATHS.clusters}/demo`, { metadata: { labels: { looked: "at" } } });
  await eventually("it was looked at", () => Promise.resolve(passes > seen), PATIENCE);
  assert.deepEqual(
    writes(running.calls.slice(calls)).filter(({ resource }) => resource === "services"),
    [],
  );
});

test("deleted, it is back at its address, and nobody restarts", async () => {
  const before = [await addressOf("demo-2-peer"), await lives(demo)];
  await bed.client.delete(`${PATHS.services}/demo-2-peer`);
  await eventually("it is back", () => addressOf("demo-2-peer"), PATIENCE);
  assert.deepEqual([await addressOf("demo-2-peer"), await lives(demo)], before);
  assert.equal((await demo.status()).warnings, undefined);
});

test("without our labels it is the same one still, and gets them back", async () => {
  const before = await addressOf("demo-2-peer");
  await bed.client.patch(`${PATHS.services}/demo-2-peer`, { metadata: { labels: null } });
  await eventually(
    "it has its labels",
    async () => (await demo.list(PATHS.services)).includes("demo-2-peer"),
    PATIENCE,
  );
  assert.equal(await addressOf("demo-2-peer"), before);
});

test("its address taken by somebody else, it is back at another one, and the status says so", async () => {
  const was = await addressOf("demo-3-peer");
  const alive = await lives(demo);
  // Quicker than the operator, which is asked to look away for it.
  await demo.edit({ paused: true });
  await eventually("paused", async () => (await demo.condition("Ready")) === "False/Paused", PATIENCE);
  await bed.client.delete(`${PATHS.services}/demo-3-peer`);
  await bed.client.create(PATHS.services, {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "thief" },
    spec: { clusterIP: was, ports: [{ port: 80 }] },
  });
  await demo.edit({ paused: false });
  await eventually("it is back", () => addressOf("demo-3-peer"), PATIENCE);
  assert.notEqual(await addressOf("demo-3-peer"), was);
  await eventually(
    "it is told",
    async () => (await demo.status()).warnings?.some((text) => text.includes(`its address ${was} was taken`)),
    PATIENCE,
  );
  await demo.converged(3);
  assert.deepEqual(await lives(demo), alive);
  await demo.assertSound(3);
});

test("where a quota keeps it out, a member is dialled by the name of its Pod, and the status says so", async () => {
  const { items } = await bed.client.get<{ items: Service[] }>(PATHS.services);
  const quotas = "/api/v1/namespaces/default/resourcequotas";
  // Room for the two Services that the next cluster cannot be without.
  await bed.client.create(quotas, {
    apiVersion: "v1",
    kind: "ResourceQuota",
    metadata: { name: "few" },
    spec: { hard: { services: String(items.length + 2) } },
  });
  await eventually(
    "the quota counts",
    async () => {
      const { status } = await bed.client.get<{ status?: { used?: Record<string, string> } }>(
        `${quotas}/few`,
      );
      return status?.used?.["services"] === String(items.length);
    },
    PATIENCE,
  );
  const few = new ClusterOnBed(bed, "few", running);
  clusters.push(few);
  await few.create({ replicas: 3, service: { clusterName: false } });
  await few.converged(3);
  for (const { metadata, spec } of await few.members()) {
    assert.equal(spec.address.peerURL, `https://${metadata.name}.few-peers.default.svc:2380`);
    assert.deepEqual(spec.address.peerIPs, []);
  }
  assert.match(
    (await few.status()).warnings?.join() ?? "",
    /peer URLs of few-1, few-2, few-3, .*exceeded quota/,
  );
  await few.assertSound(3);
  await bed.client.delete(`${quotas}/few`);
});
