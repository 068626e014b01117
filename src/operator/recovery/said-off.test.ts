import assert from "node:assert/strict";
import { test } from "node:test";
import type { Node } from "kubernetes-types/core/v1.d.ts";
import { Conflict } from "../../control/platform.ts";
import type { OperationTask } from "../../core/operations/task.ts";
import { operationOf } from "../../core/testing/operations.ts";
import type { KubeClient } from "../../kube/client.ts";
import { KubeError } from "../../kube/errors.ts";
import { checkSaidOff } from "./said-off.ts";

const AT = "2026-05-04T10:00:00Z";
const node = (status: string, at: string | undefined = AT, taint?: string): Node => ({
  spec: taint === undefined ? {} : { taints: [{ key: taint, effect: "NoExecute" }] },
  status: {
    conditions: [{ type: "Ready", status, ...(at !== undefined && { lastTransitionTime: at }) }],
  },
});

async function check(
  found: Node | undefined | Error,
  phase: "Running" | "Pending" = "Running",
  afterMs = 1_000,
) {
  const asked: unknown[] = [];
  const list = (_nodes: unknown, ref: unknown) => {
    asked.push(ref);
    if (found instanceof Error) return Promise.reject(found);
    return Promise.resolve({ items: found ? [found] : [] });
  };
  const task: OperationTask = { kind: "recoverQuorum", approve: "0123456789abcdef", nodesOff: ["node-b"] };
  const operation = operationOf(task, { createdAt: Date.parse(AT) + afterMs });
  await checkSaidOff({ list } as unknown as KubeClient, [
    { ...operation, status: phase === "Running" ? { phase } : {} },
  ]);
  return asked;
}

test("a node that the API server knows to report, or to have reported since, is not off", async () => {
  await assert.rejects(check(node("True")), Conflict);
  await assert.rejects(check(node("False")), /node node-b reports, and EtcdOperation .* says that it is off/);
  await assert.rejects(
    check(node("Unknown"), "Running", -1_000),
    Conflict,
    "it was heard after the approval",
  );
  await assert.rejects(check(node("Unknown", "")), Conflict, "nobody knows since when");
});

test("one that is silent, deleted or out of service is as was said, and without an operation nothing is asked", async () => {
  const outOfService = "node.kubernetes.io/out-of-service";
  for (const found of [node("Unknown"), undefined, node("True", AT, outOfService)])
    assert.equal((await check(found)).length, 1);
  assert.deepEqual(await check(node("True"), "Pending"), []);
});

test("where Nodes may not be read the Pods have to do; any other failure is no answer", async () => {
  await check(new KubeError("Forbidden", "list nodes", "nodes is forbidden"));
  await assert.rejects(check(new KubeError("Unavailable", "list nodes", "no leader")), KubeError);
});
