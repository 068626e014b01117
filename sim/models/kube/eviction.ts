/** Evicting a Pod through its budget: the polite way out, which a drain takes and a budget may refuse. */
import type { KubeResponse } from "../../../src/seams/kube-transport.ts";
import { deleteObject, deleteOptions } from "./delete.ts";
import { pods } from "./kinds/pod.ts";
import { budgets } from "./kinds/simple.ts";
import { json, timestamp, type Json, type KubeJson } from "./object.ts";
import { notFound, Refusal } from "./refusal.ts";
import { selectsLabels } from "./workload.ts";
import { keyOf, put, update, type World } from "./write.ts";

export function evict(world: World, namespace: string, name: string, body: Json): KubeResponse {
  const key = keyOf({ namespace, name });
  const pod = world.storage.get(pods, key);
  if (pod === undefined) throw notFound(pods, name);
  const options = deleteOptions(body["deleteOptions"], {});
  if (needsBudget(pod.object)) spendBudget(world, pod.object);
  const status = json(pod.object["status"]);
  const conditions = (status["conditions"] as readonly Json[] | undefined) ?? [];
  const target = {
    type: "DisruptionTarget",
    status: "True",
    reason: "EvictionByEvictionAPI",
    message: "Eviction API: evicting",
    lastProbeTime: null,
    lastTransitionTime: timestamp(world.now()),
  };
  const reported = { ...pod.object, status: { ...status, conditions: [...conditions, target] } };
  // Not by way of a write of anybody: it is nobody's field.
  deleteObject(
    world,
    pods,
    put(world, pods, pod, reported, () => pod.managers),
    options,
  );
  return {
    status: 201,
    body: { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", code: 201 },
  };
}

/** A Pod that serves nobody (yet, or any more) may always go. */
function needsBudget(pod: KubeJson): boolean {
  const phase = json(pod["status"])["phase"];
  return phase === "Running" && pod.metadata.deletionTimestamp === undefined;
}

function spendBudget(world: World, pod: KubeJson): void {
  const found = world.storage
    .list(budgets)
    .map(([, stored]) => stored)
    .filter(
      ({ object }) =>
        object.metadata.namespace === pod.metadata.namespace &&
        selectsLabels(json(object["spec"])["selector"], pod.metadata.labels),
    );
  const [budget, another] = found;
  if (budget === undefined) return;
  if (another !== undefined)
    throw new Refusal(
      500,
      "InternalError",
      "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
    );
  const status = json(budget.object["status"]);
  const allowed = Number(status["disruptionsAllowed"] ?? 0);
  const stale = Number(status["observedGeneration"] ?? 0) < (budget.object.metadata.generation ?? 0);
  if (stale || allowed <= 0)
    throw new Refusal(
      429,
      "TooManyRequests",
      "Cannot evict pod as it would violate the pod's disruption budget.",
      {
        causes: [
          {
            reason: "DisruptionBudget",
            message: `The disruption budget ${budget.object.metadata.name} needs ${String(status["desiredHealthy"])} healthy pods and has ${String(status["currentHealthy"])} currently`,
          },
        ],
        ...(stale && { retryAfterSeconds: 10 }),
      },
    );
  const disruptedPods = {
    ...json(status["disruptedPods"]),
    [pod.metadata.name]: timestamp(world.now()),
  };
  const next = { ...budget.object, status: { ...status, disruptionsAllowed: allowed - 1, disruptedPods } };
  update(world, budgets, budget, next, { manager: "kube-apiserver", subresource: "status" });
}
