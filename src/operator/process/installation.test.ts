import assert from "node:assert/strict";
import { test } from "node:test";
import type { EtcdCluster } from "../../api/etcd-cluster.ts";
import type { KubeClient } from "../../kube/client.ts";
import { KubeError } from "../../kube/errors.ts";
import { ANNOTATIONS, CLUSTER_FINALIZER } from "../names.ts";
import { Installation } from "./installation.ts";

const NOW = Date.UTC(2030, 0, 1);
const KEY = "default/demo";
const HELD = [CLUSTER_FINALIZER];

function clusterOf(operator?: string, more: object = {}): EtcdCluster {
  const annotations = operator === undefined ? {} : { [ANNOTATIONS.operator]: operator };
  return {
    metadata: { name: "demo", namespace: "default", uid: "1", resourceVersion: "7", annotations, ...more },
  } as unknown as EtcdCluster;
}

/** `lease`: milliseconds since its last renewal, none, or not to be read. */
function installation(lease: number | "absent" | "denied" = "absent") {
  const patches: unknown[] = [];
  const told: string[] = [];
  const notes: string[] = [];
  const time = { passed: 0 };
  const client = {
    find: () => {
      if (lease === "denied") return Promise.reject(new KubeError("Forbidden", "get Lease", "no"));
      if (lease === "absent") return Promise.resolve(undefined);
      return Promise.resolve({ spec: { renewTime: new Date(NOW - lease).toISOString() } });
    },
    patch: (_: unknown, ref: unknown, patch: unknown, version: unknown) => {
      patches.push([ref, patch, version]);
      return Promise.resolve(clusterOf("here/quorate"));
    },
  } as unknown as KubeClient;
  const on = new Installation({
    client,
    name: "here/quorate",
    serverNow: () => NOW + time.passed,
    events: {
      record: ({ type, reason, note }) => {
        told.push(`${type} ${reason}`);
        notes.push(note);
      },
    },
    log: (level, message) => void told.push(`${level} ${message.slice(0, 17)}`),
  });
  return { on, patches, told, notes, time };
}

test("a cluster without a name on it is claimed in the version that was read, with the finalizer in the same write", async () => {
  const { on, patches, told } = installation();
  assert.ok("metadata" in (await on.claim(KEY, clusterOf())));
  assert.deepEqual(patches, [
    [
      { namespace: "default", name: "demo" },
      { metadata: { annotations: { [ANNOTATIONS.operator]: "here/quorate" }, finalizers: HELD } },
      { uid: "1", resourceVersion: "7" },
    ],
  ]);
  assert.deepEqual(told, []);
});

test("our own cluster costs no call", async () => {
  const { on, patches } = installation("denied");
  const own = clusterOf("here/quorate", { finalizers: HELD });
  assert.equal(await on.claim(KEY, own), own);
  assert.deepEqual(patches, []);
});

test("whoever is told of another installation is told how to take the cluster over from it", async () => {
  const { on, notes } = installation("denied");
  await on.claim(KEY, clusterOf("there/quorate"));
  assert.match(
    notes[0] ?? "",
    /If there\/quorate was uninstalled or no longer follows this namespace, remove the annotation from each cluster: kubectl annotate etcdcluster -n default demo etcd\.quorate\.dev\/operator-$/,
  );
});

for (const lease of [10_000, "denied"] as const)
  test(`a cluster of another installation is left alone and told once (its Lease: ${lease})`, async () => {
    const { on, patches, told } = installation(lease);
    for (let turn = 0; turn < 3; turn++)
      assert.deepEqual(await on.claim(KEY, clusterOf("there/quorate")), { againMs: 30_000 });
    assert.deepEqual(patches, []);
    assert.deepEqual(told, ["warn Two installations", "Warning ManagedElsewhere"]);
    assert.equal(on.elsewhere, 1);
    await on.claim(KEY, clusterOf("here/quorate"));
    assert.equal(on.elsewhere, 0, "it was handed over by the annotation");
  });

for (const [what, lease, holder] of [
  ["whose Lease is not renewed any more", 120_000, "there/quorate"],
  ["that has no such name", 0, "https://nowhere/../x"],
] as const)
  test(`a cluster of an installation ${what} is taken over`, async () => {
    const { on, patches, told } = installation(lease);
    await on.claim(KEY, clusterOf(holder, { finalizers: HELD }));
    assert.equal(patches.length, 1);
    assert.deepEqual(told, ["Normal TakenOver"]);
    assert.equal(on.elsewhere, 0);
  });

test("a cluster of an installation whose Lease is gone is taken over when it has been gone for a minute", async () => {
  const { on, patches, told, time } = installation("absent");
  const claim = () => on.claim(KEY, clusterOf("there/quorate", { finalizers: HELD }));
  for (const passed of [0, 30_000, 60_000]) {
    time.passed = passed;
    assert.deepEqual(await claim(), { againMs: 30_000 });
  }
  assert.deepEqual(patches, []);
  time.passed = 90_000;
  await claim();
  assert.equal(patches.length, 1);
  assert.equal(told.at(-1), "Normal TakenOver");
});

test("one that is being deleted without our finalizer is not claimed any more", async () => {
  const { on, patches } = installation();
  await on.claim(KEY, clusterOf(undefined, { deletionTimestamp: "2030-01-01T00:00:00Z" }));
  assert.deepEqual(patches, []);
});
