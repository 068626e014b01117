import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeClient } from "../../kube/client.ts";
import type { KubeObject } from "../../kube/resources.ts";
import { Clashes } from "./clashes.ts";
import { services } from "../../kube/resources.ts";
import { secrets } from "../resources.ts";

const stranger: KubeObject = { metadata: { name: "demo-1", namespace: "default", uid: "u1" } };

/** A clash with `stranger`, and what an API server has of it when it is looked at again. */
function clashing(later: KubeObject | undefined): { clashes: Clashes; pass: (ms: number) => void } {
  let now = 0;
  const client = { list: () => Promise.resolve({ items: later ? [later] : [] }) } as unknown as KubeClient;
  const clock = { now: () => now, monotonic: () => now, timer: () => ({ cancel: () => undefined }) };
  const clashes = new Clashes(client, clock, "demo");
  clashes.add(secrets, stranger);
  return { clashes, pass: (ms) => (now += ms) };
}

test("a clash lasts as long as its object is somebody else's, and is not looked at all the time", async () => {
  const changed = { metadata: { ...stranger.metadata, resourceVersion: "9", annotations: { a: "b" } } };
  const { clashes, pass } = clashing(changed);
  assert.equal(await clashes.recheck(), false);
  pass(5_000);
  assert.equal(await clashes.recheck(), false);
  assert.deepEqual(clashes.found, [
    { object: "Secret default/demo-1", concerns: "member", member: "demo-1" },
  ]);
});

for (const [what, later] of [
  ["is gone", undefined],
  ["was made anew by another", { metadata: { ...stranger.metadata, uid: "u2" } }],
  [
    "was given an owner",
    {
      metadata: {
        ...stranger.metadata,
        ownerReferences: [{ apiVersion: "v1", kind: "EtcdCluster", name: "demo", uid: "ours" }],
      },
    },
  ],
] as const) {
  test(`a clash with an object that ${what} is forgotten`, async () => {
    const { clashes, pass } = clashing(later);
    pass(5_000);
    assert.equal(await clashes.recheck(), true);
    assert.deepEqual(clashes.found, []);
  });
}

test("a clash over a name that nothing wants any more is forgotten", () => {
  const { clashes } = clashing(stranger);
  assert.equal(clashes.keepOnly([{ resource: secrets, name: "demo-1" }]), false);
  assert.equal(clashes.keepOnly([{ resource: services, name: "demo-1" }]), true);
  assert.deepEqual(clashes.found, []);
});

test("a Service of the cluster's own name concerns its users alone, and the spec can do without it", () => {
  const { clashes } = clashing(stranger);
  clashes.add(services, { metadata: { name: "demo", namespace: "default", uid: "u3" } });
  assert.deepEqual(clashes.found[1], {
    object: "Service default/demo",
    concerns: "users",
    offBy: "spec.service.clusterName",
  });
});

test("a Secret of the name of the keys of auth tokens concerns the members: they are started with one", () => {
  const { clashes } = clashing(stranger);
  clashes.add(secrets, { metadata: { name: "demo-auth-token", namespace: "default", uid: "u3" } });
  assert.deepEqual(clashes.found[1], { object: "Secret default/demo-auth-token", concerns: "members" });
});
