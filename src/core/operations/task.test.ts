import assert from "node:assert/strict";
import { test } from "node:test";
import type { EtcdOperation } from "../../api/etcd-operation.ts";
import { inOrderOfCreation, operationFacts, taskOf } from "./task.ts";

const stored: EtcdOperation = {
  apiVersion: "etcd.quorate.dev/v1alpha1",
  kind: "EtcdOperation",
  metadata: {
    name: "tidy",
    uid: "u-1",
    resourceVersion: "7",
    generation: 1,
    creationTimestamp: "2026-01-01T00:00:00Z",
  },
  spec: { cluster: "demo", defragment: { members: ["demo-1"] }, ttlSecondsAfterFinished: 60 },
  status: { observedGeneration: -1 },
};

test("the facts of an operation name its task with what it asks for", () => {
  assert.deepEqual(operationFacts(stored), {
    name: "tidy",
    uid: "u-1",
    resourceVersion: "7",
    generation: 1,
    createdAt: Date.UTC(2026, 0, 1),
    deleting: false,
    task: { kind: "defragment", members: ["demo-1"] },
    ttlSecondsAfterFinished: 60,
    status: { observedGeneration: -1 },
  });
});

test("a task of a newer release, or two tasks at once, are unknown", () => {
  assert.deepEqual(taskOf({ cluster: "demo" }), { kind: "unknown" });
  assert.deepEqual(taskOf({ cluster: "demo", restart: {}, moveLeader: {} }), { kind: "unknown" });
});

test("operations run in the order of their creation, and those of the same second by name", () => {
  const at = (name: string, createdAt: number) => ({ ...operationFacts(stored), name, createdAt });
  const sorted = inOrderOfCreation([at("c", 2), at("b", 1), at("a", 2)]);
  assert.deepEqual(
    sorted.map(({ name }) => name),
    ["b", "a", "c"],
  );
});
