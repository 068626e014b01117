import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { exampleCluster } from "./examples.ts";
import { parseCluster } from "./parse-cluster.ts";

function errorsOf(input: unknown): string[] {
  const result = parseCluster(input);
  return result.ok ? [] : result.errors.map((error) => `${error.path}: ${error.message}`);
}

test("a minimal cluster gets the documented defaults", () => {
  const result = parseCluster(exampleCluster());
  assert.ok(result.ok);
  const { spec } = result.cluster;
  assert.equal(spec.replicas, 3);
  assert.equal(spec.learners, 0);
  assert.deepEqual(spec.storage, {
    medium: "Persistent",
    size: "10Gi",
    retention: { onDelete: "Retain", onScaleIn: "Delete" },
  });
  assert.deepEqual(spec.tls, { mode: "Managed", clientAuth: "Required", extraSANs: [] });
  assert.deepEqual(spec.pod.resources, { requests: { cpu: "100m", memory: "256Mi" } });
  assert.deepEqual(spec.maintenance, {
    defrag: { auto: true, freeAbove: "100Mi", ratioAbove: 0.45 },
    hashCheck: { interval: "1h" },
    spaceCure: true,
  });
  assert.deepEqual(spec.repair, { unhealthyAfter: "2m", memberLostAfter: "5m", maxReplacementsPerHour: 4 });
  assert.deepEqual(spec.update, { strategy: "Rolling", canary: true });
  assert.equal(spec.disruptionBudget.enabled, true);
  assert.equal(spec.paused, false);
  assert.equal(spec.progressDeadlineSeconds, 600);
});

test("filling in defaults twice changes nothing", () => {
  const once = parseCluster(exampleCluster());
  assert.ok(once.ok);
  assert.deepEqual(parseCluster(once.cluster), once);
});

test("defaults of one cluster are not shared with another", () => {
  const [a, b] = [parseCluster(exampleCluster()), parseCluster(exampleCluster())];
  assert.ok(a.ok && b.ok);
  a.cluster.spec.tls.extraSANs.push("changed.example.com");
  a.cluster.spec.options.extraArgs["cors"] = "*";
  assert.deepEqual(b.cluster.spec.tls.extraSANs, []);
  assert.deepEqual(b.cluster.spec.options.extraArgs, {});
});

test("a field without a value counts as absent", () => {
  const result = parseCluster(exampleCluster({ spec: { pod: null, replicas: null } }));
  assert.ok(result.ok);
  assert.equal(result.cluster.spec.replicas, 3);
});

test("a given status is dropped", () => {
  const result = parseCluster({ ...exampleCluster(), status: { phase: "splendid", nonsense: true } });
  assert.ok(result.ok);
  assert.equal(result.cluster.status, undefined);
});

test("another kind is one error, not a page of them", () => {
  assert.deepEqual(errorsOf({ apiVersion: "v1", kind: "Pod", spec: { containers: [] } }), [
    'apiVersion: Unsupported value: "v1": write apiVersion: etcd.quorate.dev/v1alpha1',
    'kind: Unsupported value: "Pod": write kind: EtcdCluster',
  ]);
  assert.deepEqual(errorsOf(["a list"]), [
    ": expected an EtcdCluster: a map with apiVersion, kind, metadata and spec",
  ]);
});

test("an unknown field is met with the field that was probably meant", () => {
  const cases: [Record<string, unknown>, string][] = [
    [{ replica: 3 }, 'spec.replica: unknown field "spec.replica": did you mean "replicas"?'],
    [{ verison: "3.6.14" }, 'spec.verison: unknown field "spec.verison": did you mean "version"?'],
    [
      { quotaBackendBytes: 1 },
      'spec.quotaBackendBytes: unknown field "spec.quotaBackendBytes": did you mean "spec.options.quotaBackendBytes"?',
    ],
    [
      { storage: { Size: "1Gi" } },
      'spec.storage.Size: unknown field "spec.storage.Size": did you mean "size"?',
    ],
    [
      { update: { colour: 1 } },
      'spec.update.colour: unknown field "spec.update.colour": the fields here are canary, snapshotBefore, strategy',
    ],
  ];
  for (const [spec, message] of cases) assert.deepEqual(errorsOf(exampleCluster({ spec })), [message]);
});

test("all errors are reported at once", () => {
  const errors = errorsOf(
    exampleCluster({ spec: { replicas: 12, version: "3.6", storage: { size: "big" } } }),
  );
  assert.equal(errors.length, 3);
});

test("whatever is given, the answer is a cluster or a list of errors with paths", () => {
  fc.assert(
    fc.property(fc.anything(), (spec) => {
      const result = parseCluster({ ...exampleCluster(), spec });
      assert.ok(result.ok || result.errors.every((error) => error.message !== "" && error.path !== ""));
    }),
  );
});
