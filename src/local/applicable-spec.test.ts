import assert from "node:assert/strict";
import { test } from "node:test";
import { etcdClusterSpecSchema } from "../api/etcd-cluster-spec.ts";
import { kubernetesOnlyFields } from "../api/kubernetes-only.ts";
import { applicableSpec } from "./applicable-spec.ts";

const spec = etcdClusterSpecSchema.parse({
  version: "3.6.16",
  replicas: 5,
  image: { repository: "example.org/etcd" },
  storage: { className: "fast", size: "20Gi", retention: { onScaleIn: "Retain" } },
  pod: { labels: { team: "a" } },
  service: { type: "NodePort" },
  disruptionBudget: { enabled: false },
  options: { snapshotCount: 5000 },
});

test("nothing that only Kubernetes applies is left", () => {
  assert.ok(kubernetesOnlyFields({ spec }).length >= 6);
  assert.deepEqual(kubernetesOnlyFields({ spec: applicableSpec(spec) }), []);
});

test("everything else is kept", () => {
  const { replicas, options, storage } = applicableSpec(spec);
  assert.equal(replicas, 5);
  assert.equal(options.snapshotCount, 5000);
  assert.equal(storage.retention.onScaleIn, "Retain");
});
