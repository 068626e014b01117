/** `spec.storage.adopt` on a real API server, with real etcd in Pods of the stand-in kubelet and our command from its sources. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { PersistentVolume, PersistentVolumeList } from "kubernetes-types/core/v1.d.ts";
import { eventually } from "../../testbed/eventually.ts";
import type { TestTestbed } from "../../testbed/for-tests.ts";
import { PATHS } from "../support/kube-paths.ts";
import {
  ClusterOnBed,
  PATIENCE_MS,
  startOperator,
  upWithDefinitions,
  type Running,
} from "../support/operator.ts";
import { ownImage } from "../support/own-image.ts";
import { EVERY_CASE } from "../support/sample.ts";

const KEYS = 20;

let bed: TestTestbed;
let running: Running;
let cluster: ClusterOnBed;

before(async () => {
  bed = await upWithDefinitions();
  running = startOperator(bed, ownImage(bed));
  cluster = new ClusterOnBed(bed, "kept", running);
});

after(async () => {
  await cluster?.close();
  await running?.stop();
  await bed?.down();
});

async function deleted(one = cluster): Promise<void> {
  await one.delete();
  const isGone = () =>
    one.get().then(
      () => false,
      () => true,
    );
  await eventually("the EtcdCluster is gone", isGone, { withinMs: PATIENCE_MS });
}

const claims = async () =>
  (await cluster.claims()).map(
    ({ metadata }) => `${metadata?.name} ${metadata?.uid} ${metadata?.resourceVersion}`,
  );

test("a deleted cluster comes back from its volumes: another identity is refused, and with its own every key and member is there", async () => {
  await cluster.create({ replicas: 3 });
  const { clusterID, members: former = [] } = await cluster.converged(3);
  const { kv } = await cluster.etcd();
  for (let i = 0; i < KEYS; i++) await kv.put(`key/${i}`, `value ${i}`, { timeoutMs: 5_000 });
  await deleted();
  await eventually("its Pods are gone", async () => (await cluster.pods()).length === 0, {
    withinMs: PATIENCE_MS,
  });
  const kept = await claims();
  assert.equal(kept.length, 3);

  await cluster.create({ replicas: 3, storage: { adopt: { clusterID: "1234" } } });
  const { message = "" } = await eventually(
    "it is refused",
    async () => {
      const isStalled = (await cluster.condition("Stalled")) === "True/AdoptionRefused";
      return isStalled && (await cluster.status());
    },
    { withinMs: PATIENCE_MS },
  );
  assert.match(message, /no volume of this cluster's name in its namespace has the cluster ID 1234/);
  assert.deepEqual(await claims(), kept, "nothing was changed");
  assert.deepEqual(await cluster.members(), []);
  await deleted();

  await cluster.create({ replicas: 3, storage: { adopt: { clusterID } } });
  const { clusterID: now, members = [] } = await cluster.converged(3);
  assert.equal(now, clusterID);
  const ids = (list: typeof members) => list.map(({ name, id }) => `${name} ${id}`).toSorted();
  assert.deepEqual(ids(members), ids(former));
  await cluster.assertSound(3);
  const again = await (await cluster.etcd()).kv.range("key/", { prefix: true, timeoutMs: 5_000 });
  assert.equal(again.count, KEYS);
  await eventually("no Pod that read a volume is left", async () => (await cluster.pods()).length === 3);
  const labels = (await cluster.claims()).map(
    ({ metadata }) => metadata?.labels?.["etcd.quorate.dev/cluster-uid"],
  );
  assert.deepEqual(
    [...new Set(labels)],
    [(await cluster.get()).metadata.uid],
    "the volumes are the new cluster's",
  );
});

test("volumes that outlived their claims, as with a deleted namespace, are bound again", async () => {
  const retained = new ClusterOnBed(bed, "retained", running);
  try {
    const storage = { className: "retain", size: "1Gi" };
    await retained.create({ replicas: 3, storage });
    const { clusterID } = await retained.converged(3);
    const { kv } = await retained.etcd();
    for (let i = 0; i < KEYS; i++) await kv.put(`key/${i}`, `value ${i}`, { timeoutMs: 5_000 });
    const named = await volumesOf("retained");
    assert.equal(named.length, 3);
    await deleted(retained);
    await eventually("its Pods are gone", async () => (await retained.pods()).length === 0, {
      withinMs: PATIENCE_MS,
    });
    for (const { metadata } of await retained.claims())
      await bed.client.delete(`${PATHS.claims}/${metadata?.name ?? ""}`);
    await eventually(
      "its volumes are Released",
      async () => (await volumesOf("retained")).every(({ status }) => status?.phase === "Released"),
      { withinMs: PATIENCE_MS },
    );
    await retained.create({ replicas: 3, storage: { ...storage, adopt: { clusterID } } });
    assert.equal((await retained.converged(3)).clusterID, clusterID);
    await retained.assertSound(3);
    const again = await (await retained.etcd()).kv.range("key/", { prefix: true, timeoutMs: 5_000 });
    assert.equal(again.count, KEYS);
    const now = await volumesOf("retained");
    assert.deepEqual(
      now.map(({ metadata, status }) => [metadata?.name, status?.phase]),
      named.map(({ metadata }) => [metadata?.name, "Bound"]),
    );
  } finally {
    await retained.close();
  }
});

const HOSTED = EVERY_CASE ? 3 : 1;

test("directories of nodes, which nothing of Kubernetes knows of, are read there and taken over", async () => {
  const hosted = new ClusterOnBed(bed, "hosted", running);
  /** Node and path of each, as `adopt.directories` names them. */
  const directories = async () =>
    (await hosted.pods())
      .map(({ spec }) => {
        const { hostPath } = spec?.volumes?.find(({ name }) => name === "data") ?? {};
        const [, path = ""] = /^\/var\/lib\/quorate\/[^/]+\/(.+)$/.exec(hostPath?.path ?? "") ?? [];
        return { node: spec?.nodeName ?? "", path };
      })
      .toSorted((left, right) => left.path.localeCompare(right.path));
  try {
    const storage = { medium: "HostPath", size: "1Gi", hostPath: "/var/lib/quorate" } as const;
    await hosted.create({ replicas: HOSTED, storage });
    const { clusterID = "" } = await hosted.converged(HOSTED);
    const { kv } = await hosted.etcd();
    for (let i = 0; i < KEYS; i++) await kv.put(`key/${i}`, `value ${i}`, { timeoutMs: 5_000 });
    const before = await directories();
    await deleted(hosted);
    await eventually("its Pods are gone", async () => (await hosted.pods()).length === 0, {
      withinMs: PATIENCE_MS,
    });
    const adopt = { clusterID, directories: before };
    await hosted.create({ replicas: HOSTED, storage: { ...storage, adopt } });
    assert.equal((await hosted.converged(HOSTED)).clusterID, clusterID);
    const again = await (await hosted.etcd()).kv.range("key/", { prefix: true, timeoutMs: 5_000 });
    assert.equal(again.count, KEYS);
    assert.deepEqual(await directories(), before);
  } finally {
    await hosted.close();
  }
});

async function volumesOf(name: string): Promise<PersistentVolume[]> {
  const path = `/api/v1/persistentvolumes?labelSelector=etcd.quorate.dev/cluster=${name}`;
  const { items } = await bed.client.get<PersistentVolumeList>(path);
  return items.toSorted((a, b) => (a.metadata?.name ?? "").localeCompare(b.metadata?.name ?? ""));
}
