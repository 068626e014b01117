import assert from "node:assert/strict";
import { test } from "node:test";
import { exampleCluster } from "./examples.ts";
import { kubernetesOnlyFields } from "./kubernetes-only.ts";
import { parseCluster } from "./parse-cluster.ts";

function listed(spec: Record<string, unknown>): string[] {
  const written = exampleCluster({ spec });
  const parsed = parseCluster(written);
  assert.ok(parsed.ok, JSON.stringify(parsed));
  const fields = kubernetesOnlyFields({ spec: written["spec"] });
  assert.deepEqual(kubernetesOnlyFields(parsed.cluster), fields, "filling in defaults makes no difference");
  return fields.map(({ path, effect }) => `${effect} ${path}`);
}

test("a minimal cluster sets nothing that only Kubernetes can do", () => {
  assert.deepEqual(listed({}), []);
});

test("fields for Pods, Services and volumes are named for a warning", () => {
  const spec = {
    storage: { size: "20Gi", className: "fast" },
    pod: { nodeSelector: { disk: "ssd" }, resources: { requests: { cpu: "1" } } },
    service: { type: "LoadBalancer" },
    image: { repository: "example.com/etcd" },
    disruptionBudget: { enabled: false },
  };
  assert.deepEqual(listed(spec), [
    "warn spec.image.repository",
    "warn spec.storage.size",
    "warn spec.storage.className",
    "warn spec.pod.resources",
    "warn spec.pod.nodeSelector",
    "warn spec.service.type",
    "warn spec.disruptionBudget.enabled",
  ]);
});

test("a field written with its default value asks for nothing", () => {
  assert.deepEqual(
    listed({ disruptionBudget: { enabled: true }, storage: { medium: "Persistent", size: "10Gi" } }),
    [],
  );
});

test("what decides over data is refused, not only warned of", () => {
  assert.deepEqual(listed({ storage: { medium: "Memory" } }), ["refuse spec.storage.medium"]);
  assert.deepEqual(listed({ storage: { medium: "HostPath", hostPath: "/data" } }), [
    "refuse spec.storage.medium",
    "refuse spec.storage.hostPath",
  ]);
});

test("what every platform applies is not listed", () => {
  const spec = {
    storage: { retention: { onDelete: "Delete" } },
    tls: { mode: "Disabled" },
    options: { quotaBackendBytes: "4Gi", extraArgs: { cors: "*" } },
    repair: { memberLostAfter: "1h" },
  };
  assert.deepEqual(listed(spec), []);
});
