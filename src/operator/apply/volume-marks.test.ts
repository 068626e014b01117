import assert from "node:assert/strict";
import { test } from "node:test";
import type { PersistentVolume } from "kubernetes-types/core/v1.d.ts";
import type { KubeClient } from "../../kube/client.ts";
import { KubeError } from "../../kube/errors.ts";
import { VolumeMarks } from "./volume-marks.ts";

const claim = {
  metadata: { name: "data-demo-1", namespace: "default", uid: "claim-1" },
  spec: { volumeName: "pv-1" },
};
const identity = { labels: { a: "1" }, annotations: { b: "2" } };
const bound: PersistentVolume = {
  metadata: { name: "pv-1", uid: "pv-uid", resourceVersion: "7" },
  spec: { claimRef: { uid: "claim-1" } },
};

function marking(answer: PersistentVolume | KubeError) {
  const calls: unknown[] = [];
  let now = 0;
  const client = {
    get: () => {
      calls.push("get");
      return answer instanceof KubeError ? Promise.reject(answer) : Promise.resolve(answer);
    },
    patch: (resource: { kind: string }, _ref: unknown, patch: unknown, version: unknown) => {
      calls.push([resource.kind, patch, version]);
      return Promise.resolve({});
    },
  } as unknown as KubeClient;
  const marks = new VolumeMarks(client, { monotonic: () => now });
  return { calls, pass: (ms: number) => (now += ms), mark: () => marks.mark(claim, identity) };
}

test("a volume that is bound to the claim is written on, in the version that was read", async () => {
  const { calls, mark } = marking(bound);
  assert.equal(await mark(), true);
  assert.deepEqual(calls, [
    "get",
    ["PersistentVolume", { metadata: identity }, { uid: "pv-uid", resourceVersion: "7" }],
  ]);
});

test("one that says so already is not written on: the operator that wrote it died before it noted that", async () => {
  const labels = { ...identity.labels, "of/another": "tool" };
  const { calls, mark } = marking({ ...bound, metadata: { ...bound.metadata, ...identity, labels } });
  assert.equal(await mark(), true);
  assert.deepEqual(calls, ["get"]);
});

const denied = new KubeError("Forbidden", "get PersistentVolume pv-1", "persistentvolumes is forbidden");
for (const [what, answer] of [
  ["that the operator may not read", denied],
  ["of another claim", { ...bound, spec: { claimRef: { uid: "claim-0" } } }],
] as const) {
  test(`a volume ${what} is left alone, nothing fails, and it is not asked for on every pass`, async () => {
    const { calls, pass, mark } = marking(answer);
    for (let i = 0; i < 3; i++) assert.equal(await mark(), false);
    assert.deepEqual(calls, ["get"]);
    pass(11 * 60_000);
    assert.equal(await mark(), false);
    assert.deepEqual(calls, ["get", "get"]);
  });
}
