import assert from "node:assert/strict";
import { test } from "node:test";
import { exampleCluster } from "./examples.ts";
import { parseCluster } from "./parse-cluster.ts";
import { clusterWarnings } from "./warnings.ts";

function warned(spec: Record<string, unknown>): string[] {
  const parsed = parseCluster(exampleCluster({ spec }));
  assert.ok(parsed.ok, JSON.stringify(parsed));
  return clusterWarnings(parsed.cluster.spec).map((warning) => warning.path);
}

test("a minimal, a hibernated and a single-member cluster are nothing to warn of", () => {
  for (const replicas of [0, 1, 3]) assert.deepEqual(warned({ replicas }), []);
});

test("what is allowed but seldom meant is warned of with its field", () => {
  assert.deepEqual(warned({ replicas: 4 }), ["spec.replicas"]);
  assert.deepEqual(warned({ storage: { size: "40Gi" }, options: { quotaBackendBytes: "16Gi" } }), [
    "spec.options.quotaBackendBytes",
  ]);
  assert.deepEqual(warned({ storage: { size: "3Gi" } }), ["spec.storage.size"]);
  assert.deepEqual(warned({ options: { autoCompaction: { retention: "0s" } } }), [
    "spec.options.autoCompaction.retention",
  ]);
  assert.deepEqual(warned({ tls: { mode: "Disabled" } }), ["spec.tls"]);
  assert.deepEqual(warned({ tls: { mode: "Disabled", client: { mode: "Managed" }, clientAuth: "None" } }), [
    "spec.tls.clientAuth",
  ]);
});

test("what would be accepted and have no effect is warned of", () => {
  const plain = { mode: "Disabled", clientAuth: "None", extraSANs: ["db.example.com"] };
  assert.deepEqual(warned({ tls: plain }), ["spec.tls", "spec.tls.clientAuth", "spec.tls.extraSANs"]);
  const compactHash = { compactHash: false, compactHashTime: "5m" };
  assert.deepEqual(warned({ options: { corruptCheck: compactHash } }), [
    "spec.options.corruptCheck.compactHashTime",
  ]);
  const retention = { onScaleIn: "Retain" };
  assert.deepEqual(warned({ storage: { medium: "Memory", retention } }), [
    "spec.storage.retention.onScaleIn",
  ]);
  const hostPath = { medium: "HostPath", hostPath: "/var/lib/etcd" };
  assert.deepEqual(warned({ storage: hostPath }), []);
  assert.deepEqual(warned({ storage: { ...hostPath, retention } }), []);
  assert.deepEqual(warned({ storage: { ...hostPath, retention, size: "20Gi" } }), ["spec.storage.size"]);
});
