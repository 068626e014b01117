import assert from "node:assert/strict";
import { test } from "node:test";
import type { Node, NodeCondition, Pod, PodCondition } from "kubernetes-types/core/v1.d.ts";
import { nodeOf, type Nodes } from "./node-facts.ts";

const AT = "2026-05-04T10:00:00Z";
const SILENT = { name: "node-b", kubelet: "silent", since: Date.parse(AT) } as const;
const REPORTS = { name: "node-b", kubelet: "reports" } as const;

const ready = (status: string, more: object = {}) => ({
  type: "Ready",
  status,
  lastTransitionTime: AT,
  ...more,
});

function nodes(condition: NodeCondition | undefined, taint?: string): Nodes {
  const node: Node = {
    spec: taint === undefined ? {} : { taints: [{ key: taint, effect: "NoExecute" }] },
    status: { conditions: condition ? [condition] : [] },
  };
  return new Map([["node-b", node]]);
}

const pod = (condition?: PodCondition): Pod => ({
  metadata: { name: "demo-2" },
  spec: { containers: [], nodeName: "node-b" },
  status: { conditions: condition ? [condition] : [] },
});

test("a node that the control plane has not heard of is silent since it said so", () => {
  assert.deepEqual(nodeOf(pod(), nodes(ready("Unknown"))), SILENT);
  assert.deepEqual(nodeOf(pod(), nodes(ready("True"))), REPORTS);
  assert.deepEqual(nodeOf(pod(), nodes(ready("False"))), REPORTS, "not ready is a report, too");
  assert.deepEqual(nodeOf(pod(), nodes(undefined)), REPORTS);
});

test("without a time nobody knows how long it has been silent, so that it is not said to be off", () => {
  assert.deepEqual(nodeOf(pod(), nodes({ type: "Ready", status: "Unknown" })), REPORTS);
});

test("nothing is told of a node whose Pods Kubernetes itself ends, and of a Pod without a node", () => {
  assert.equal(nodeOf(pod(), nodes(ready("Unknown"), "node.kubernetes.io/out-of-service")), undefined);
  assert.equal(nodeOf(pod(), new Map()), undefined);
  assert.equal(nodeOf({ spec: { containers: [] } }, nodes(ready("Unknown"))), undefined);
  assert.equal(nodeOf(undefined, nodes(ready("Unknown"))), undefined);
});

test("where Nodes may not be read, the Pod's readiness tells, if it was taken away without a kubelet's reason", () => {
  assert.deepEqual(nodeOf(pod(ready("False")), undefined), SILENT);
  assert.deepEqual(nodeOf(pod(ready("Unknown")), undefined), SILENT);
  assert.deepEqual(nodeOf(pod(ready("True")), undefined), REPORTS);
  const byKubelet = ready("False", { reason: "ContainersNotReady" });
  assert.deepEqual(nodeOf(pod(byKubelet), undefined), REPORTS, "it may have been so before");
  assert.deepEqual(nodeOf(pod(), undefined), REPORTS);
});
