import assert from "node:assert/strict";
import { test } from "node:test";
import type { EtcdOperation } from "../../api/etcd-operation.ts";
import { exampleOperation } from "../../api/operation-examples.ts";
import { binding, boundTo, isOpenTo, operationsFor, readOperation } from "./operation-object.ts";

function operation(name: string, more: Partial<EtcdOperation["metadata"]> = {}): EtcdOperation {
  const given = exampleOperation({ restart: {} }, name);
  const stored = { namespace: "default", uid: `uid-${name}`, resourceVersion: "7", generation: 1 };
  const creationTimestamp = "2026-01-01T00:00:00Z";
  return { ...given, metadata: { ...given.metadata, ...stored, creationTimestamp, ...more } };
}

const owner = (uid: string) => ({
  apiVersion: "etcd.quorate.dev/v1alpha1",
  kind: "EtcdCluster",
  name: "demo",
  uid,
});

test("operations run in the order of their creation, and by name within a second", () => {
  const objects = [
    operation("b"),
    operation("late", { creationTimestamp: "2026-01-01T00:00:01Z" }),
    operation("a"),
  ];
  assert.deepEqual(
    operationsFor("uid", objects).map(({ name }) => name),
    ["a", "b", "late"],
  );
});

test("an operation of an earlier cluster of the same name is not carried out", () => {
  const bound = operation("old", { ownerReferences: [owner("earlier")] });
  assert.equal(boundTo(bound), "earlier");
  assert.ok(!isOpenTo("uid", bound));
  assert.deepEqual(operationsFor("uid", [bound]), []);
  assert.equal(operationsFor("earlier", [bound]).length, 1);
});

test("binding keeps other owners, and is done once", () => {
  const other = { apiVersion: "v1", kind: "ConfigMap", name: "plan", uid: "plan" };
  const cluster = { name: "demo", uid: "uid" };
  const metadata = binding(cluster, operation("a", { ownerReferences: [other] })) as {
    ownerReferences: object[];
  };
  assert.deepEqual(metadata.ownerReferences, [other, owner("uid")]);
  assert.equal(binding(cluster, operation("a", { ownerReferences: [owner("uid")] })), undefined);
});

test("an operation that this release cannot understand is told apart, with what is wrong", () => {
  const strange = operation("strange");
  const spec = { cluster: "demo", rewind: {} } as unknown as EtcdOperation["spec"];
  const read = readOperation({ ...strange, spec });
  assert.ok(!read.ok);
  assert.match(read.errors.map(({ message }) => message).join("; "), /rewind|exactly one/);
  assert.deepEqual(operationsFor("uid", [{ ...strange, spec }]), []);
});
